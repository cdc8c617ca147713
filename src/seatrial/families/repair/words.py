"""Words that tell one instance from another: what the records are about, and what things are called."""

from collections.abc import Mapping

Words = Mapping[str, str]

VOCABULARIES: tuple[Words, ...] = (
    {"item": "scan", "items": "scans", "group": "shipper", "moment": "minute", "amount": "kilograms",
     "mark": "seal", "trade": "the depot's loading docks"},
    {"item": "slip", "items": "slips", "group": "reader", "moment": "hour", "amount": "pence",
     "mark": "stamp_no", "trade": "the library's fee desks"},
    {"item": "sample", "items": "samples", "group": "ward", "moment": "second", "amount": "microlitres",
     "mark": "trace", "trade": "the laboratory's benches"},
    {"item": "reading", "items": "readings", "group": "site", "moment": "tick", "amount": "wattage",
     "mark": "check", "trade": "the substation's lines"},
)  # fmt: skip

# Chains are called after places; each pool serves every third variant.
PLACES = (
    ("north", "south", "east", "west", "upper", "lower", "inner", "outer", "middle", "far", "near", "old"),
    ("red", "green", "blue", "amber", "violet", "white", "black", "grey", "brown", "pink", "teal", "ochre"),
    ("oak", "elm", "ash", "beech", "birch", "cedar", "fir", "hazel", "larch", "maple", "pine", "rowan"),
)
STEMS = (
    ("alder", "brook", "crane", "dover", "elton", "frost", "gale", "holm", "ibis", "jarrow"),
    ("kestrel", "lund", "moss", "nairn", "orr", "perth", "quill", "ryton", "selby", "tarn"),
    ("umber", "vane", "wick", "yarrow", "zell", "arden", "blyth", "corfe", "denby", "esk"),
)
FOLDERS = (
    {"programs": "pipeline", "data": "data", "products": "out", "forms": "work", "archive": "archive"},
    {"programs": "steps", "data": "given", "products": "made", "forms": "between", "archive": "earlier"},
    {"programs": "flow", "data": "intake", "products": "results", "forms": "staging", "archive": "past"},
)
# How a file of a chain is called: by the place and the number of its link (0 for the first input).
PATTERNS = ("{place}-{number}", "{number}_{place}", "{place}/{number:02}")
MODULES = (
    {"records": "records", "recode": "recode"},
    {"records": "lines", "recode": "convert"},
    {"records": "formats", "recode": "reshape"},
)
FORMS = (("columns", "packed", "hex"), ("table", "tight", "digits"), ("turned", "pressed", "base16"))
# What a variant calls a name of the programs: odd variants the first, even ones the second.
SYNONYMS: Mapping[str, tuple[str, str]] = {
    "BOXES": ("CRATES", "SIZES"), "FIRST": ("HEAD", "LEADING"), "LEAST": ("MINIMUM", "AT_LEAST"),
    "LIMIT": ("BOUND", "THRESHOLD"), "LONGEST": ("MAXIMUM", "CEILING"), "MOST": ("TIMES", "UP_TO"),
    "NTH": ("EVERY", "INTERVAL"), "OFFSET": ("SHIFTED", "MARGIN"), "OPENING": ("INITIAL", "START_WITH"),
    "PAUSE": ("BREAK_LENGTH", "REST_TIME"), "PERIOD": ("SPELL", "DURATION"), "RATES": ("TARIFFS", "FEES"),
    "REFILL": ("TOP_UP", "RESTOCK"), "SIZE": ("LENGTH", "CAPACITY"), "SPAN": ("REACH", "WIDTH"),
    "STEP": ("STRIDE", "GRAIN"), "STRANGER": ("NEWCOMER", "UNKNOWN"), "after": ("later_on", "then"),
    "again": ("repeated", "echoed"), "amount": ("quantity", "figure"), "amounts": ("quantities", "figures"),
    "batch": ("bundle_of", "lot"), "batches": ("bundles", "lots"), "before": ("earlier_one", "prior"),
    "best": ("leader", "champion"), "busy": ("crowded_ones", "active"),
    "by_moment": ("in_time", "by_clock"), "columns": ("fields", "table_of"), "content": ("body", "raw"),
    "counts": ("numbers_of", "frequency"), "decoded": ("unpacked", "parsed"),
    "done": ("finished", "complete_ones"), "drawn": ("taken_off", "withdrawn"),
    "each": ("one_of", "element"), "encoded": ("packed_up", "rendered"), "even": ("pairs_up", "balanced"),
    "extra": ("late", "additional"), "following": ("successor", "upcoming"),
    "forest": ("groups_of", "woods"), "found": ("collected", "gathered"), "gaps": ("differences", "deltas"),
    "group": ("cluster", "category"), "grouped": ("clustered", "by_category"),
    "kept": ("retained", "survivors"), "known": ("familiar", "recorded"), "large": ("big", "heavy"),
    "larger": ("bigger", "heavier"), "largest": ("biggest", "heaviest"), "level": ("stock_now", "balance"),
    "levels": ("stocks", "balances"), "line": ("text_row", "entry_text"), "load": ("fetch", "read_in"),
    "loud": ("strong", "intense"), "made": ("ours_now", "produced"), "mean": ("average", "typical"),
    "members": ("belonging", "inmates"), "merged": ("combined", "united"), "name": ("label", "title"),
    "node": ("knot", "vertex"), "number": ("figure_in", "value_of"), "others": ("remaining", "leftover"),
    "ours": ("mine", "own_side"), "part": ("piece", "section"), "path": ("target_file", "location"),
    "picked": ("selected", "elected"), "place": ("position", "rank"), "plain": ("bare", "simple"),
    "present": ("there_now", "actual"), "register": ("directory_of", "roster"),
    "row": ("record", "item_of"), "rows": ("entries", "items_in"), "save": ("store", "write_out"),
    "seen": ("so_far", "count_now"), "shift": ("turn", "duty"), "shifts": ("turns", "duties"),
    "small": ("light", "little"), "spaced": ("with_pauses", "stretched"), "stamp": ("mark_with", "sign"),
    "start": ("begin", "lower_end"), "stop": ("end_at", "upper_end"), "stream": ("handle", "opened"),
    "sums": ("subtotals", "amounts_of"), "tail": ("remainder", "back_part"),
    "theirs": ("yours", "other_side"), "total": ("sum_now", "overall"), "totals": ("sums_now", "overalls"),
    "tree": ("nested", "hierarchy"), "trend": ("movement", "tendency"), "values": ("cells", "contents"),
    "waits": ("delays", "pauses"), "wanted": ("expected_ones", "required"),
    "window": ("frame_of", "glimpse"), "windows": ("frames", "glimpses"), "work": ("process", "transform"),
}  # fmt: skip
