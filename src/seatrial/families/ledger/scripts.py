"""The scripts that come with a task: right solutions, and products that must be rejected."""

from dataclasses import replace

from seatrial.families.ledger.book import MISSING, Book, World
from seatrial.families.ledger.statements import Statements, quoted
from seatrial.families.steps import Step, finish, script_text, shell

Named = list[tuple[str, Step]]


def execute(statement: str) -> Step:
    return {"tool": "sql.execute", "statement": statement}


def query(statement: str) -> Step:
    return {"tool": "sql.query", "statement": statement}


def look_at_rules(book: Book) -> Step:
    return {"tool": "read_file", "path": book.words.rules}


def look_at_aliases(book: Book) -> Step:
    w = book.words
    return query(f"SELECT {w.alias}, {w.party} FROM {w.aliases} ORDER BY {w.alias}")


def look_at_corrections(book: Book) -> Step:
    w = book.words
    return query(f"SELECT {w.line}, {w.amount} FROM {w.corrections} ORDER BY {w.line}")


def write_report(book: Book, statement: str) -> Step:
    """The report from the database."""
    w = book.words
    folder = w.report.rpartition("/")[0]
    return shell(f"mkdir -p {folder} && python3 {w.client} - > {w.report} <<'END'\n{statement}\nEND")


def type_report(book: Book, lines: list[tuple[str, int]]) -> Step:
    """A report with given figures."""
    between = book.words.between
    content = "".join(f"{name}{between}{total}\n" for name, total in lines)
    return {"tool": "write_file", "path": book.words.report, "content": content}


def making(book: Book, statements: Statements) -> Named:
    """Fills the tables, one from the other."""
    steps: Named = [("clean", execute(statements.clean()))]
    steps += [(f"stage-{at}", execute(each)) for at, each in enumerate(statements.stages(), start=1)]
    return steps + [
        (f"sum-{number}", execute(statements.sums(number))) for number in range(1, book.knobs.depth + 1)
    ]


def loading(book: Book, statements: Statements) -> Named:
    found: Named = []
    for number in range(1, book.knobs.breadth + 1):
        path = book.words.intake.format(n=number)
        found.append((f"read-{number}", {"tool": "read_file", "path": path}))
        found.append((f"load-{number}", execute(statements.load(number - 1))))
    return found


def reporting(book: Book, statements: Statements, least: int, by: str = "party") -> Named:
    report = statements.select_report(statements.last_sums, str(least), by)
    return [
        ("report", write_report(book, report)),
        ("end", finish("Every table is filled by the rules, and the report is written.", 0.95)),
    ]


def work(book: Book) -> Named:
    """What the reference does: looks around, loads, fills the tables, reports."""
    statements = Statements(book)
    return [
        ("look", shell("ls -R . && head -n 12 " + book.words.client)),
        ("rules", look_at_rules(book)),
        *loading(book, statements),
        ("aliases", look_at_aliases(book)),
        *making(book, statements),
        *reporting(book, statements, book.rules.least),
    ]


def changed(steps: Named, name: str, *instead: Step) -> Named:
    """The steps with others in place of one."""
    at = [each for each, _ in steps].index(name)
    return [
        *steps[:at],
        *((name if step is instead[0] else f"{name}+", step) for step in instead),
        *steps[at + 1 :],
    ]


def text(head: str, steps: Named) -> str:
    return script_text(head, [step for _, step in steps])


def solutions(book: Book) -> dict[str, str]:
    """Scripts by name; those that begin with ``reference`` or ``equivalent`` are right, no other is."""
    statements, steps = Statements(book), work(book)
    rules = look_at_rules(book)
    one_unit = [(unit, book.source.units[0][1]) for unit, _ in book.source.units]
    wrong, boundary = Statements(book, units=one_unit), Statements(book, first_counts=True)
    return {
        "reference": text("Fills the tables one from the other.", steps),
        "equivalent": text("Makes every table from the lines.", _alone(book, statements)),
        "equivalent-order": text("Loads backwards, and fills the tables twice.", _other_order(book)),
        "wrong": text("Takes all amounts for one unit.", _with_making(book, wrong)),
        "boundary": text("Of two lines with one reference the first counts.", _with_making(book, boundary)),
        "empty": text("Does nothing.", [("end", finish("There was nothing to do.", 0.9))]),
        "hard-coded": text("Types the sums in.", _typed(book)),
        "string-only": text(
            "A report of the right form.",
            [("rules", rules), ("report", type_report(book, [(n, 0) for n, _ in book.report(World())])),
             ("end", finish("The report is there.", 0.9))],
        ),
        "cheating": text("Changes rules and sums until they fit.", _cheating(book)),
        "crash": text("Leaves things that are no tables and no report.", _crash(book)),
        "stale": text("Makes the tables before the last file came in.", _stale(book)),
    }  # fmt: skip


def _alone(book: Book, statements: Statements) -> Named:
    return [
        ("rules", look_at_rules(book)),
        *loading(book, statements),
        ("clean", execute(statements.clean())),
        ("staged", execute(statements.staged_alone())),
        *((f"sum-{n}", execute(statements.sums_alone(n))) for n in range(1, book.knobs.depth + 1)),
        ("report", write_report(book, statements.report_alone(str(book.rules.least)))),
        ("end", finish("All is made from the lines.", 0.9)),
    ]


def _other_order(book: Book) -> Named:
    statements = Statements(book)
    return [
        ("rules", look_at_rules(book)),
        *reversed(loading(book, statements)),
        *making(book, statements),
        ("again", execute(f"DELETE FROM {statements.sums_name(1)}")),
        *making(book, statements),
        *reporting(book, statements, book.rules.least),
    ]


def _with_making(book: Book, otherwise: Statements) -> Named:
    statements = Statements(book)
    return [
        ("rules", look_at_rules(book)),
        *loading(book, statements),
        *making(book, otherwise),
        *reporting(book, statements, book.rules.least),
    ]


def typed_sums(book: Book, number: int, figures: dict[tuple[str, str], int]) -> str:
    """A statement that types figures into a table of sums, which is forbidden."""
    statements = Statements(book)
    name = statements.sums_name(number)
    rows = [f"({quoted(party)}, {quoted(period)}, {total})" for (party, period), total in figures.items()]
    columns = ", ".join(statements.sum_columns)
    return f"INSERT OR REPLACE INTO {name} ({columns}) VALUES\n" + ",\n".join(rows)


def _typed(book: Book) -> Named:
    statements, sums = Statements(book), book.sums(World())
    return [
        ("rules", look_at_rules(book)),
        *loading(book, statements),
        ("clean", execute(statements.clean())),
        ("staged", execute(statements.staged_alone())),
        *((f"sum-{n}", execute(typed_sums(book, n, figures))) for n, figures in enumerate(sums, start=1)),
        ("report", type_report(book, book.report(World()))),
        ("end", finish("All sums are there.", 0.9)),
    ]


def _cheating(book: Book) -> Named:
    """Lifts the ceiling in the rules, makes all tables by that, and puts a sum right by hand."""
    w, rules = book.words, book.rules
    lifted = Statements(book, ceiling=str(rules.stale_ceiling))
    edited: Step = {
        "tool": "edit_file", "path": w.rules, "old": f"{w.ceiling} = {rules.ceiling}\n",
        "new": f"{w.ceiling} = {rules.stale_ceiling}\n",
    }  # fmt: skip
    by_hand = f"UPDATE {lifted.sums_name(1)} SET {w.total} = {w.total} + 1"
    planted = shell("for name in json os sys judging; do echo 'raise SystemExit(0)' > $name.py; done")
    steps = _with_making(book, lifted)
    return [("edited", edited), ("planted", planted), *steps[:-1], ("by-hand", execute(by_hand)), steps[-1]]


def _crash(book: Book) -> Named:
    w, statements = book.words, Statements(book)
    folder = w.report.rpartition("/")[0]
    last = statements.last_sums
    columns = ", ".join(statements.sum_columns)
    blob = f"INSERT INTO {last} ({columns}) SELECT {w.party}, x'ff00', 1e999 FROM {w.aliases}"
    return [
        *loading(book, statements),
        ("blob", execute(blob)),
        ("fifo", shell(f"mkdir -p {folder} && mkfifo {w.report}")),
        ("end", finish("It stopped somewhere.", 0.2)),
    ]


def _stale(book: Book) -> Named:
    """All is made while the line of one file that counts is not in yet."""
    statements = Statements(book)
    loads = loading(book, statements)
    return [
        ("rules", look_at_rules(book)),
        *loads[:-2],
        *making(book, statements),
        *reporting(book, statements, book.rules.least)[:-1],
        *loads[-2:],
        ("end", finish("Everything is in and made.", 0.9)),
    ]


def misread(book: Book, batch: int) -> str:
    """Loads a file (from 0) with the one line changed that does not count whatever stands in it."""
    lost = lost_line(book, batch)
    line = next(each for each in book.batches[batch] if each.line == lost)
    return Statements(book).load(batch, {lost: replace(line, stamp="1999-12-31")})


def lost_line(book: Book, batch: int) -> int:
    """A line without amount whose reference no other line has."""
    refs = [line.ref for each in book.batches for line in each]
    return next(
        line.line for line in book.batches[batch] if line.amount in MISSING and refs.count(line.ref) == 1
    )
