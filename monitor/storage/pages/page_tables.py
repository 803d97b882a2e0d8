"""The tables of the labeling page; they contain nothing about predictions."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Dialect,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    String,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

from monitor.domain.page_answer import PageAnswer, read_page_answer
from monitor.storage.tables import BigId, UtcDateTime, define_table


class StoredAnswer(TypeDecorator[PageAnswer]):
    """An answer; null if it was withdrawn."""

    impl = String(12)
    cache_ok = True

    def process_bind_param(self, value: PageAnswer | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Return the text of an answer."""
        return None if value is None else str(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> PageAnswer | None:  # noqa: ARG002
        """Parse the text of an answer."""
        return None if value is None else read_page_answer(value)


page_rounds = define_table(
    "page_rounds",
    Column("name", String(200), primary_key=True),
    Column("question", Text, nullable=False),
    Column("guideline", Text),
    Column("choices", JSON(none_as_null=True)),  # null: it is asked for yes or no
    Column("sent_at", UtcDateTime, nullable=False),
    comment="What the labeling page asks about each round, as it was when the tasks went out.",
)

page_tasks = define_table(
    "page_tasks",
    Column("round_name", ForeignKey("page_rounds.name"), primary_key=True),
    Column("key", String(40), primary_key=True),
    Column("place", String(64), nullable=False),  # a random order that knows nothing of strata
    Column("item", String(64), nullable=False),  # the same for copies that need two people
    Column("shown", JSON(none_as_null=True)),
    Column("held_by", Text),
    Column("held_until", UtcDateTime),
    Index(None, "key"),
    comment="Tasks on the labeling page, and who has which on the screen.",
)

page_shares = define_table(
    "page_shares",
    Column("round_name", String(200), primary_key=True),
    Column("task_key", String(40), primary_key=True),
    Column("page_round", String(200), nullable=False),
    Column("page_key", String(40), nullable=False),
    Column("place", Integer, nullable=False),  # of the monitor's class among the choices
    Column("let_go", Boolean, nullable=False, default=False),
    ForeignKeyConstraint(["page_round", "page_key"], ["page_tasks.round_name", "page_tasks.key"]),
    Index(None, "page_round", "page_key"),
    Index(None, "task_key"),
    comment=(
        "Tasks of monitors of a block that one task on the page answers; let_go once a round needs "
        "what it shows no more."
    ),
)

page_answers = define_table(
    "page_answers",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("task_key", String(40), nullable=False),
    Column("annotator", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("answer", StoredAnswer),  # null: taken back
    Column("at", UtcDateTime, nullable=False),
    UniqueConstraint("task_key", "annotator", "revision"),
    Index(None, "annotator", "at"),
    comment="What annotators said or took back on the labeling page; rows are only ever added.",
)

page_sessions = define_table(
    "page_sessions",
    Column("digest", String(64), primary_key=True),
    Column("annotator", Text, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
    Column("login", String(8)),  # what let them in: users, or null for a link
    comment="Who may use the labeling page, by the hash of their cookie.",
)

page_users = define_table(
    "page_users",
    Column("name", String(100), primary_key=True),
    Column("token_hash", Text, nullable=False),  # argon2
    Column("role", String(8), nullable=False),
    Column("added_at", UtcDateTime, nullable=False),
    comment="Who may use the pages by a token of their own, and what for.",
)

page_attempts = define_table(
    "page_attempts",
    Column("digest", String(64), primary_key=True),
    Column("failures", Integer, nullable=False),
    Column("last_at", UtcDateTime, nullable=False),
    comment="Sign-ins that failed, by the hash of a name or of an address; forgotten after a day.",
)
