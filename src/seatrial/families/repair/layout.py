"""What things are called in one instance: the original's names, or those of a variant."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from seatrial.families.draws import Draws
from seatrial.families.repair import words
from seatrial.families.repair.options import Knobs
from seatrial.families.repair.package import Package, Stage
from seatrial.families.repair.words import Words

T = TypeVar("T")


def chosen(pool: Sequence[T], first: int, variant: int) -> T:
    """The original takes the pool's entry ``first``; no variant takes the same."""
    if variant == 0:
        return pool[first]
    others = len(pool) - 1
    return pool[(first + 1 + (variant - 1) % others) % len(pool)]


@dataclass(frozen=True)
class Layout:
    """Names of one instance.

    Attributes:
        vocabulary: words for the records.
        places, stems: names of chains, and beginnings of the names of groups.
        folders: of programs, data, products, intermediate forms and the archive.
        modules: of the programs that every chain shares.
        forms: endings of files in intermediate forms: by columns, compressed, in hexadecimal digits.
        pattern: how a file of a chain is called.
        aliases: patterns in the package's sources and paths, and what stands there instead.
        variant: its number.
    """

    vocabulary: Words
    places: tuple[str, ...]
    stems: tuple[str, ...]
    folders: Words
    modules: Words
    forms: tuple[str, ...]
    pattern: str
    aliases: tuple[tuple[re.Pattern[str], str], ...]
    variant: int

    def renamed(self, text: str) -> str:
        """A source text or path of the package under its names here."""
        for pattern, name in self.aliases:
            text = pattern.sub(name, text)
        return text

    def file(self, folder: str, place: str, number: int, ending: str) -> str:
        """Path of a chain's file in a kind of folder."""
        name = self.pattern.format(place=place, number=number)
        return f"{self.folders[folder]}/{name}.{ending}"

    def program(self, stage: Stage) -> str:
        """Module name of a stage's program."""
        return f"{self.folders['programs']}.{stage.names[min(self.variant, 1)]}"

    def shared(self, name: str) -> str:
        """Module name of a program that every chain uses: ``records`` or ``recode``."""
        return f"{self.folders['programs']}.{self.modules[name]}"


def layout_of(package: Package, knobs: Knobs) -> Layout:
    """The names; the same for the same seed and variant."""
    variant = knobs.variant
    vocabulary = Draws(knobs.seed, "vocabulary").below(len(words.VOCABULARIES))
    draws = Draws(knobs.seed, f"layout {variant}")
    return Layout(
        chosen(words.VOCABULARIES, vocabulary, variant),
        tuple(draws.shuffled(chosen(words.PLACES, 0, variant))),
        tuple(draws.shuffled(chosen(words.STEMS, 0, variant))),
        chosen(words.FOLDERS, 0, variant),
        chosen(words.MODULES, 0, variant),
        chosen(words.FORMS, 0, variant),
        chosen(words.PATTERNS, 0, variant),
        tuple((re.compile(old), draws.pick(new)) for old, new in package.aliases if variant),
        variant,
    )
