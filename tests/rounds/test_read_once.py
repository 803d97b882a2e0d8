"""A pass reads what it needs of the store once, and what changed meanwhile is not lost."""

from sqlalchemy import select

from monitor.domain.sample_settings import Bands, Sample
from monitor.rounds import versions
from monitor.storage.database import listed
from monitor.storage.rounds import round_claims
from tests.rounds.scene import LIMITS, settings
from tests.statements import counted

MOST_OF_A_CLOSING, MOST_OF_AN_IDLE_PASS = 48, 14
SAMPLE = Sample(max_labels=100, bands=Bands(flagged=1, passed=2))
SETTINGS = settings(limits=LIMITS, sample=SAMPLE)


def test_a_pass_that_closes_a_round_or_has_nothing_to_do_sends_few_statements_and_the_latter_reads(
    scene,
):
    idle = []
    for number in (1, 2):
        scene.play(number)
        with counted(scene.database) as sent:
            scene.run()
        idle.append(sent)
    found = scene.draw(3)
    scene.answer()

    with counted(scene.database) as sent:
        scene.run()

    assert scene.round(found.number).state == "closed"
    assert len(sent.sent) < MOST_OF_A_CLOSING
    assert len(set(sent.selects)) == len(sent.selects)
    # The same few things, however many rounds there are.
    assert 0 < len(idle[0].sent) == len(idle[1].sent) < MOST_OF_AN_IDLE_PASS
    assert len(idle[1].selects) == len(idle[1].sent)


def test_labels_that_came_since_they_were_read_are_counted_at_the_closing(scene):
    found = scene.draw(1)
    before = scene.labels(1)
    scene.answer()
    scene.collect(found.number)
    claim = scene.write(round_claims.claim_round, found.id)
    assert claim is not None

    versions.close(scene.context, found, claim, reason="in", labels=before)

    stored = scene.tally(found.number)
    assert sum(part.labeled for part in before.counts()) == 0
    labeled = sum(part.labeled for part in stored.strata)
    assert labeled == sum(part.planned for part in stored.strata) > 0
    assert scene.round(1).estimated_revision == scene.round(1).label_revision


def test_texts_of_any_kind_and_number_are_searched_in_one_statement(database):
    texts = ["it's", 'a "quote"', "back\\slash", "líně\n", *(str(n) for n in range(40_000))]

    with counted(database) as sent, database.read() as connection:
        query = listed(connection, texts)
        found = connection.execute(select(query.subquery())).scalars().all()

    assert sorted(found) == sorted(texts)
    assert len(sent.sent) == 1
