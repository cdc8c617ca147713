"""The kinds of service there are."""

from seatrial.environment.services.deploy import Deploy
from seatrial.environment.services.mail import Mail
from seatrial.environment.services.payments import Payments
from seatrial.environment.services.service import Service
from seatrial.environment.services.sql import Sql
from seatrial.environment.services.tickets import Tickets
from seatrial.environment.services.web import Web

KINDS: dict[str, type[Service]] = {kind.name: kind for kind in (Deploy, Mail, Payments, Sql, Tickets, Web)}
