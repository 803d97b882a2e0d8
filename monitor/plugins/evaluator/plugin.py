"""The evaluator `pr_monitor` of `mlflow.models.evaluate`, as MLflow finds it.

MLflow imports this module whenever it lists its evaluators, so it loads nothing more until it is
asked for.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from mlflow.models.evaluation.base import ModelEvaluator

from monitor.plugins.evaluator.design import says_how_drawn

if TYPE_CHECKING:
    from types import FrameType

    from mlflow.models.evaluation import EvaluationResult

_NAMED_BY = "_evaluate"
"""MLflow's function that asks only the evaluators that were named, or said yes before."""


class PrMonitorEvaluator(ModelEvaluator):
    """Precision, recall and more of a labeled set of any balance, adjusted to its population."""

    @classmethod
    def can_evaluate(
        cls, *, model_type: str | None, evaluator_config: dict[str, Any] | None, **_: Any
    ) -> bool:
        """Return yes where the config says how the labels were drawn, for models of every type.

        Also where this evaluator was named without that, or for a type that is not a classifier's:
        ``evaluate`` refuses both with the reason.
        """
        del model_type
        return says_how_drawn(evaluator_config) or _is_named()

    def evaluate(
        self,
        *,
        model_type: str | None,
        dataset: Any,
        run_id: str,
        evaluator_config: dict[str, Any],
        model: Any = None,
        predictions: str | None = None,
        **_: Any,
    ) -> EvaluationResult:
        """Evaluate, log to the run, and return what was logged."""
        from monitor.plugins.evaluator.mlflow_run import evaluate_dataset  # noqa: PLC0415

        return evaluate_dataset(
            model_type=model_type,
            dataset=dataset,
            run_id=run_id,
            config=evaluator_config,
            model=model,
            predictions=predictions,
        )


def _is_named() -> bool:
    """Return whether MLflow asks because somebody named this evaluator.

    Where none was named, MLflow asks each from another function, and one that says yes takes part.
    """
    frame: FrameType | None = inspect.currentframe()
    for _ in range(2):  # this function and `can_evaluate`
        frame = frame and frame.f_back
    return frame is not None and frame.f_code.co_name == _NAMED_BY
