"""What was found in a folder, and the experiment that is proposed: files, plan, what is missing, the TOML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import Said, is_known, say
from assay.report.blocks import Block, Lines, Verdict
from assay.report.numbers import upwards
from assay.report.tables import Table

if TYPE_CHECKING:
    from assay.results.proposal import Proposal

_UNREAD = 10
_MINUTE = 60


def line(found: Proposal) -> Verdict:
    """What is there, and how many combinations would be compared."""
    return Verdict(
        say("proposal.line", documents=found.documents, n=len(found.combinations), questions=_questions(found))
    )  # fmt: skip


def table(found: Proposal) -> list[Block]:
    """What was found, what is missing, and the plan."""
    blocks: list[Block] = [Lines((_documents(found),))]
    if found.files:
        blocks.append(_files(found))
    blocks.append(Lines(tuple(_troubles(found)), listed=True))
    blocks.append(Lines(tuple(_plan(found))))
    return blocks


def page(found: Proposal, place: int = 0) -> list[Block]:
    """The same, with the text of the experiment."""
    del place
    return [*table(found), Lines(tuple(found.toml.splitlines()))]


def _documents(found: Proposal) -> Said:
    languages = [say("proposal.language_count", n=n, language=say(f"proposal.language_{name}"))
                 for name, n in sorted(found.languages.items(), key=lambda one: -one[1])]  # fmt: skip
    return say(
        "proposal.documents", folder=found.folder, n=found.documents, characters=found.characters, languages=languages
    )


def _files(found: Proposal) -> Table:
    rows = tuple((one.place, _kind(one.kind), one.holds, _kind(one.used_as)) for one in found.files)
    return Table(tuple(say(f"column.{name}") for name in ("file", "kind", "holds", "used_as")), rows, names=4)


def _kind(kind: str) -> str:
    key = f"check.kind_{kind}"
    return say(key) if is_known(key) else kind


def _troubles(found: Proposal) -> list[Said | str]:
    said: list[Said | str] = [
        say("proposal.unread", place=one.place, reason=one.reason) for one in found.unread[:_UNREAD]
    ]
    if len(found.unread) > _UNREAD:
        said.append(say("proposal.more_unread", n=len(found.unread) - _UNREAD))
    more = [say(f"proposal.more_{name}", command=command) for name, command in found.more.items()]
    return [*said, *found.warnings, *found.missing, *more]


def _questions(found: Proposal) -> Said:
    if found.known_items:
        return say("proposal.known_items", n=found.questions)
    if found.judge:
        return say("proposal.model_questions", n=found.questions, model=found.judge.partition(" (")[0])
    return say("proposal.own_queries", n=found.questions)


def _plan(found: Proposal) -> list[Said]:
    steps = [
        say("proposal.step_questions_made" if found.made else "proposal.step_questions", questions=_questions(found)),
        say("proposal.step_run", n=len(found.combinations), names=list(found.combinations)),
        *_say_unlabelled(found),
        say("proposal.step_report", folder=found.output),
    ]
    numbered = [say("proposal.step", number=number, step=step) for number, step in enumerate(steps, 1)]
    said = [say("proposal.plan"), *numbered, _price(found)]
    if found.kept:
        said.append(say("proposal.kept", place=found.experiment))
    return said


def _say_unlabelled(found: Proposal) -> list[Said]:
    if not found.unlabelled:
        return []
    place = f"{found.output}/unlabelled"
    return [say("proposal.step_unlabelled", n=found.unlabelled, file=found.unlabelled_at, place=place)]


def _price(found: Proposal) -> Said:
    minutes = found.seconds / _MINUTE
    time = say("proposal.minutes", n=round(minutes)) if minutes >= 1.5 else say("proposal.a_minute")  # noqa: PLR2004
    if not found.calls:
        return say("proposal.price_free", time=time)
    if found.cost is None:
        return say("proposal.price_unknown", time=time, calls=found.calls)
    if found.most is None:
        return say("proposal.price_about", time=time, calls=found.calls, cost=found.cost, currency=found.currency)
    price = {"cost": found.cost, "most": upwards(found.most), "currency": found.currency}
    return say("proposal.price", time=time, calls=found.calls, **price)
