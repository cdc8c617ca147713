"""Payments: accounts, charges on them and refunds of charges. Amounts have at most two decimals."""

from typing import Any

from seatrial.environment.services.refusal import Refusal
from seatrial.environment.services.row import Row
from seatrial.environment.services.service import Service

_MOST = 10**12


class Payments(Service):
    """No settings. An account may go down to minus its ``limit``."""

    name = "payments"

    def do_charge(self, given: dict[str, Any]) -> Any:
        """Write the charge down, then take it from the account."""
        amount = _cents(given["amount"])
        account = self.need("accounts", given["account"], "account")
        balance = _cents(account["balance"], free=True) - amount
        if balance < -_cents(account["limit"], free=True):
            raise Refusal(402, f"the account {account['id']!r} holds too little")
        charge = self.add(
            "charges",
            {
                "account": account["id"], "amount": _money(amount), "reference": given["reference"],
                "refunded": 0, "ledger": self.number,
            },
        )  # fmt: skip
        self.put("accounts", {**account, "balance": _money(balance)})
        return {"charge": charge["id"], "balance": _money(balance)}

    def do_refund(self, given: dict[str, Any]) -> Any:
        """Write the refund down, then give it back to the account and mark the charge."""
        charge = self.need("charges", given["charge"], "charge")
        account = self.need("accounts", charge["account"], "account")
        amount, refunded = _cents(given["amount"]), _cents(charge["refunded"], free=True)
        if refunded + amount > _cents(charge["amount"], free=True):
            raise Refusal(409, f"of charge {charge['id']} only {_left(charge)} is left to refund")
        self.compensates = charge.get("ledger")
        refund = self.add("refunds", {"charge": charge["id"], "amount": _money(amount)})
        balance = _money(_cents(account["balance"], free=True) + amount)
        self.put("accounts", {**account, "balance": balance})
        self.put("charges", {**charge, "refunded": _money(refunded + amount)})
        return {"refund": refund["id"], "balance": balance}

    def do_balance(self, given: dict[str, Any]) -> Any:
        """What is in an account."""
        account = self.need("accounts", given["account"], "account")
        return {"account": account["id"], "balance": account["balance"], "limit": account["limit"]}

    def do_list(self, given: dict[str, Any]) -> Any:
        """Charges for a reference."""
        rows, more = self.page("charges", given["reference"], given.get("after"))
        shown = [{name: row[name] for name in ("id", "account", "amount", "refunded")} for row in rows]
        return {"reference": given["reference"], **self.listed("charges", (shown, more))}


def _cents(amount: Any, free: bool = False) -> int:
    """An amount in hundredths.

    Args:
        free: also zero or less.

    Raises:
        Refusal: it is no amount of money.
    """
    if isinstance(amount, bool) or not isinstance(amount, int | float) or abs(amount) > _MOST:
        raise Refusal(400, "the amount is no number that can be paid")
    cents = round(amount * 100)
    if abs(cents - amount * 100) > 1e-6 * max(1.0, abs(amount)):
        raise Refusal(400, f"{amount} has more than two decimals")
    if cents <= 0 and not free:
        raise Refusal(400, f"{amount} is not more than 0")
    return cents


def _money(cents: int) -> int | float:
    """Hundredths as an amount: a whole number where it is one."""
    return cents // 100 if cents % 100 == 0 else cents / 100


def _left(charge: Row) -> int | float:
    return _money(_cents(charge["amount"], free=True) - _cents(charge["refunded"], free=True))
