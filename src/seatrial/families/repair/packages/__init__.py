"""The packages a repair task can be made of, by name."""

from seatrial.families.repair.packages.boltons import BOLTONS
from seatrial.families.repair.packages.funcy import FUNCY
from seatrial.families.repair.packages.toolz import TOOLZ

PACKAGES = {package.name: package for package in (TOOLZ, FUNCY, BOLTONS)}
