"""From several runs to one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from assay.data.run import Run
from assay.errors import UnknownName, UsageError, excerpt
from assay.formats.conversion import as_whole_run, runs_by_name
from assay.fusion.methods import check_parameters, method_of, methods_with
from assay.fusion.normalisation import NORMS, lift_scores, norm_of
from assay.fusion.overlay import lay_out
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assay.data.segments import Floats
    from assay.fusion.methods import FusionMethod
    from assay.fusion.normalisation import Norm
    from assay.fusion.overlay import Lists, Overlay, Ties

Unlisted = Literal["lowest", "zero"]
Weights = Sequence[float] | Mapping[str, float]

_TIED_ALARM = 0.2
_ROWS = {"query": pl.Int64, "doc": pl.Int64, "score": pl.Float64}


def fuse(
    runs: Sequence[Any] | Mapping[str, Any],
    method: str = "rrf",
    *,
    norm: str | None = None,
    weights: Weights | None = None,
    depth: int | None = None,
    top: int | None = 1000,
    ties: Ties = "docid",
    unlisted: Unlisted = "lowest",
    dedupe: bool = False,
    name: str | None = None,
    **params: float,
) -> Run:
    """Fuse runs into one; each may be a path, a dict, a frame or a `Run`, and a dict of them names them.

    `norm` is min-max for methods that use scores. `depth` is how much of each list is used, `top` how many documents
    of a query are kept. Documents that a run with negative scores does not list count like its lowest one, or as 0
    (`unlisted`). `params` are the method's: k of rrf, phi of rbc, nu of log_isr. The result's `notes` name queries
    that some runs lack.

    >>> import assay
    >>> fused = assay.fuse({"words": {"q": {"a": 2.0, "b": 1.0}}, "vectors": {"q": {"b": 0.9}}})
    >>> list(fused.to_dict()["q"])
    ['b', 'a']
    """
    given = name_runs(runs)
    fusion = Fusion.of(method, norm, weights, [run.name for run in given], unlisted=unlisted, params=params)
    check_sizes(depth=depth, top=top, ties=ties)
    lists = lay_out(given, ties=ties, depth=depth, dedupe=dedupe)
    notes = [note for run in given for note in run.notes]
    return fuse_lists(lists, fusion, top=top, name=name or fusion.method.name, notes=notes)


@dataclass(frozen=True)
class Fusion:
    """How to fuse: a method with its parameters, the normalisation before it and the weights of the runs."""

    method: FusionMethod
    norm: Norm | None
    params: Mapping[str, float]
    weights: tuple[float, ...] | None = None
    unlisted: Unlisted = "lowest"

    @classmethod
    def of(
        cls, method: str, norm: str | None, weights: Weights | None, names: Sequence[str], *,
        unlisted: Unlisted = "lowest", params: Mapping[str, float] | None = None,
    ) -> Fusion:  # fmt: skip
        """Check that everything fits together; `names` are those of the runs."""
        chosen = method_of(method)
        given = dict(params or {})
        check_parameters(chosen, given)
        if unlisted not in {"lowest", "zero"}:
            raise UsageError(say("unlisted = {unlisted!r}: expected one of lowest, zero", unlisted=unlisted))
        before = _norm(chosen, norm)
        return cls(chosen, before, {**chosen.parameters, **given}, _weights(chosen, weights, names), unlisted)

    def scores(self, lists: Overlay) -> Floats:
        """Fused score of every row."""
        if self.weights is not None:
            lists = replace(lists, weights=np.array(self.weights))
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused by name in `ranked`
            if self.norm is not None:
                score = self.norm.function(lists)
                lift = self.method.sums and self.unlisted == "lowest"
                lists = replace(lists, score=lift_scores(lists, score) if lift else score)
            return self.method.function(lists, **self.params)

    def __str__(self) -> str:
        words = [f"{key}={value:g}" for key, value in self.params.items()]
        words += [f"norm={self.norm.name}"] if self.norm else []
        return self.method.name + (f" ({', '.join(words)})" if words else "")


def fuse_lists(lists: Lists, fusion: Fusion, *, top: int | None, name: str, notes: Iterable[str] = ()) -> Run:
    """Fuse lists that are already laid out; a run of weight 0 is left out as if it had not been given."""
    lists, fusion, left_out = drop_zero_weights(lists, fusion)
    frame, tied = rank_lists(lists, fusion, lists.overlays(), top)
    asked = lists.query_ids.filter(lists.is_asked)
    empty = asked.filter(~asked.is_in(frame["query_id"].unique().implode())).to_list()
    said = [*notes, *(say("fuse.idle", name=idle) for idle in left_out), *lists.gaps()]
    if tied > _TIED_ALARM * len(frame):
        said.append(say("fuse.tied", share=tied / len(frame)))
    return Run(frame, name, empty=tuple(empty), notes=tuple(said))


def drop_zero_weights(lists: Lists, fusion: Fusion) -> tuple[Lists, Fusion, list[str]]:
    """Leave out runs of weight 0, and name them."""
    if fusion.weights is None or all(fusion.weights):
        return lists, fusion, []
    kept = [i for i, weight in enumerate(fusion.weights) if weight]
    idle = [name for name, weight in zip(lists.names, fusion.weights, strict=True) if not weight]
    return lists.only(runs=kept), replace(fusion, weights=tuple(fusion.weights[i] for i in kept)), idle


def rank_lists(lists: Lists, fusion: Fusion, overlays: Iterable[Overlay], top: int | None) -> tuple[pl.DataFrame, int]:
    """Fused lists in the order that evaluation gives them, and how many documents share their score with a neighbour.

    Equal scores are written by falling document id, which is how evaluation breaks ties, by id or as given.
    """
    rows = pl.concat([pl.DataFrame(schema=_ROWS), *(_best(part, fusion.scores(part), top) for part in overlays)])
    odd = rows.filter(~pl.col("score").is_finite())
    if len(odd):
        where = excerpt(lists.query_ids[odd["query"][0]])
        raise UsageError(
            say(
                "the scores of query {query} are too large for {method}: use another --norm than none",
                query=where,
                method=str(fusion),
            )
        )
    query, score = rows["query"].to_numpy(), rows["score"].to_numpy()
    same = (query[1:] == query[:-1]) & (score[1:] == score[:-1])
    tied = int((np.append(same, False) | np.append(False, same)).sum()) if len(rows) else 0
    ids = {"query_id": lists.query_ids.gather(rows["query"]), "doc_id": lists.doc_ids.gather(rows["doc"])}
    return pl.DataFrame({**ids, "score": score}), tied


def _best(overlay: Overlay, scores: Floats, top: int | None) -> pl.DataFrame:
    rows = pl.DataFrame({"query": overlay.query, "doc": overlay.doc, "score": scores + 0.0})
    rows = rows.sort(["query", "score", "doc"], descending=[False, True, True])
    if top is None:
        return rows
    place = np.arange(len(rows)) - np.repeat(overlay.starts, np.diff(np.append(overlay.starts, len(rows))))
    return rows.filter(place < top)


def name_runs(runs: Sequence[Any] | Mapping[str, Any]) -> list[Run]:
    """Read runs and give each a name of its own."""
    if not isinstance(runs, (Mapping, Sequence)) or isinstance(runs, str):
        raise UsageError(
            say("runs must be a list of runs or a dict that names them, not {kind}", kind=type(runs).__name__)
        )
    if not runs:
        raise UsageError(say("there are no runs to fuse"))
    return [_to_documents(replace(as_whole_run(run), name=name)) for name, run in runs_by_name(runs).items()]


def _to_documents(run: Run) -> Run:
    """The same run where it lists documents; of chunks, each document with the score of its best one."""
    if not run.is_of_chunks:
        return run
    frame = run.frame.group_by(["query_id", "doc_id"], maintain_order=True).agg(pl.col("score").max())
    return replace(
        run,
        rows=frame,
        notes=(*run.notes, say("{name} lists chunks: each document has the score of its best one", name=run.name)),
    )


def check_sizes(*, depth: Any, top: Any, ties: str) -> None:
    """Refuse depths below 1 and unknown rules of ties."""
    for name, value in (("depth", depth), ("top", top)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1):
            raise UsageError(say("{name} = {value}: expected a whole number of 1 or more", name=name, value=value))
    if ties not in {"docid", "given"}:
        raise UsageError(say("ties = {ties!r}: expected one of docid, given", ties=ties))


def _norm(method: FusionMethod, norm: str | None) -> Norm | None:
    """Take the normalisation that is asked for, else min-max where scores are used."""
    chosen = norm_of(norm) if norm is not None else None
    if method.uses == "scores":
        return chosen or NORMS["min-max"]
    if chosen is not None and chosen.name != "none":
        raise UsageError(
            say("{method} uses only ranks: --norm {norm} would change nothing", method=method.name, norm=chosen.name)
        )
    return None


def _weights(method: FusionMethod, given: Weights | None, names: Sequence[str]) -> tuple[float, ...] | None:
    if given is None:
        if method.weights == "must":
            raise UsageError(
                say(
                    "{name} needs weights: --weights 0.7,0.3, --weight NAME=0.7 for each run, or --tune",
                    name=method.name,
                )
            )
        return None
    if method.weights == "no":
        takers = methods_with(lambda one: one.weights != "no")
        raise UsageError(say("{name} takes no weights; methods that do: {takers}", name=method.name, takers=takers))
    if isinstance(given, Mapping):
        given = _by_name(given, names)
    if len(given) != len(names):
        raise UsageError(say("{n} {n:weight|weights} for {runs} runs: give one per run", n=len(given), runs=len(names)))
    try:
        found = tuple(float(weight) for weight in given)
    except (TypeError, ValueError):
        raise UsageError(say("weights must be numbers")) from None
    if not all(np.isfinite(found)) or min(found) < 0 or not any(found):
        raise UsageError(say("weights must be finite and not negative, and at least one must be above 0"))
    return found


def _by_name(given: Mapping[str, float], names: Sequence[str]) -> list[float]:
    """Bring weights into the order of the runs; every run needs one."""
    stranger = next((name for name in given if name not in names), None)
    if stranger is not None:
        raise UnknownName(say("run"), stranger, names, hint=say("the runs are {names}", names=list(names)))
    lacking = next((name for name in names if name not in given), None)
    if lacking is not None:
        raise UsageError(say("run {name} has no weight: give every run one, 0 to leave it out", name=lacking))
    return [given[name] for name in names]
