"""A judge that is a model of MLflow, loaded into this process as a pyfunc."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from monitor.domain.adapters import Adapter
from monitor.domain.errors import RegistryUnavailable, SourceUnavailable
from monitor.domain.judge import OnDemandSettings
from monitor.domain.judging import JudgeFailed, JudgeSite, Reply
from monitor.domain.registered import MODEL_URI, alias_of
from monitor.domain.setting_types import Duration
from monitor.domain.shown import Shown, plain_texts
from monitor.domain.time_limit import within
from monitor.tracking.connection import load_mlflow

_LOGGED = "models:/"  # before the id of a logged model, at which a registered version points


class MlflowModelSettings(OnDemandSettings):
    """A model of MLflow's registry, which is given the columns that people are shown.

    ``model`` is its URI, ``models:/second-opinion/7`` or ``models:/second-opinion@champion``;
    another version that an alias names begins a new history. Loading it runs its code in this
    process. It predicts for ``batch`` items at once; columns that its signature has as numbers are
    read as such.
    """

    kind: Literal["mlflow_model"] = "mlflow_model"
    model: str
    batch: Annotated[int, Field(ge=1, le=100_000)] = 1000
    timeout: Annotated[Duration, Field(ge=timedelta(seconds=1), le=timedelta(hours=1))] = timedelta(
        minutes=10
    )
    concurrency: Annotated[int, Field(ge=1, le=64)] = 1

    @field_validator("model")
    @classmethod
    def _is_registered(cls, value: str) -> str:
        if MODEL_URI.fullmatch(value) is None:
            message = "write models:/NAME/VERSION or models:/NAME@ALIAS"
            raise ValueError(message)
        return value

    @property
    def name(self) -> str:
        """The model's URI."""
        return self.model


@dataclass(slots=True)
class MlflowModelJudge:
    """Predicts with the version that was loaded last."""

    settings: MlflowModelSettings
    site: JudgeSite
    _version: str | None = None
    _loaded: tuple[str, Any] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def batch(self) -> int:
        """How many items it predicts for at once."""
        return self.settings.batch

    def resolved(self) -> str | None:
        """Find the version that the alias names now; None for a model without alias."""
        if alias_of(self.settings.model) is None:
            return None
        try:
            version = self.site.aliases.version_of(self.settings.model)
        except RegistryUnavailable as error:
            raise JudgeFailed(str(error), passes=True) from error
        if version is None:
            message = f"{self.settings.model} names no version"
            raise JudgeFailed(message)
        self._version = version  # a round keeps it, though the alias may move meanwhile
        return version

    def ask(self, items: Sequence[Shown], seconds: float) -> Sequence[Reply]:
        """Predict for these items."""
        try:
            values = within(
                timedelta(seconds=seconds), self.settings.model, lambda: self._of(items)
            )
        except SourceUnavailable as error:
            message = "it did not answer in time"
            raise JudgeFailed(message, passes=True) from error
        except JudgeFailed:
            raise
        except Exception as error:
            # Code of others may fail in any way. Not its text, which may hold texts of items.
            message = f"the model failed ({type(error).__name__})"
            raise JudgeFailed(message) from error
        return [Reply(value, "" if value is not None else "empty") for value in values]

    def _of(self, items: Sequence[Shown]) -> list[Any]:
        import pandas as pd  # noqa: PLC0415  half a second, as MLflow

        model = self._model()
        frame = pd.DataFrame([plain_texts(item) for item in items])
        schema = model.metadata.get_input_schema()
        for column in () if schema is None or not schema.has_input_names() else schema.inputs:
            numeric = str(column.type) in {"integer", "long", "float", "double"}
            if numeric and column.name in frame:
                frame[column.name] = pd.to_numeric(frame[column.name], errors="coerce")
        predicted = pd.Series(list(model.predict(frame)), dtype=object)
        return [_plain(value) for value in predicted]

    def _model(self) -> Any:
        alias, uri = alias_of(self.settings.model), self.settings.model
        if alias is not None:
            uri = alias.version(self._version or str(self.resolved()))
        with self._lock:
            if self._loaded is None or self._loaded[0] != uri:
                self._loaded = uri, self._load(uri)
            return self._loaded[1]

    def _load(self, uri: str) -> Any:
        load_mlflow()
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # of its own type hints, and of other packages' versions
            from mlflow import MlflowClient, pyfunc  # noqa: PLC0415, TID251  its code was asked for
            from mlflow.artifacts import download_artifacts  # noqa: PLC0415

            tracking = self.site.tracking_uri
            client = MlflowClient(tracking, self.site.registry_uri or tracking)
            parts = MODEL_URI.fullmatch(uri)
            assert parts is not None  # noqa: S101  checked with the settings
            location = client.get_model_version_download_uri(parts["name"], parts["version"])
            if location.startswith(_LOGGED):
                logged = client.get_logged_model(location.removeprefix(_LOGGED))
                location = logged.artifact_location
            path = download_artifacts(artifact_uri=location, tracking_uri=tracking)
            return pyfunc.load_model(path)


def _plain(value: Any) -> bool | int | float | str | None:
    """Turn a value of numpy into Python's; None for what is no single value."""
    value = value.item() if hasattr(value, "item") else value
    is_missing = value != value  # noqa: PLR0124  NaN
    return value if isinstance(value, bool | int | float | str) and not is_missing else None


ADAPTER = Adapter(MlflowModelSettings, MlflowModelJudge)
