"""The calibrator: what it forecasts, what it learns from, what it refuses, and how it is saved."""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from lithify.calibration import ALPHA, BAND, CLAMP, NEUTRAL, Calibrator, Observation, Verdict
from lithify.errors import InvalidInput, InvalidJSON, InvalidPolicy

ROOT = Path(__file__).resolve().parents[2]


def report(calibrator: Calibrator, raw: float, tokens: Any, **more: Any) -> Observation:
    return calibrator.observe(calibrator.sent(raw=raw), {"prompt_tokens": tokens}, **more)


def learned(ratio: float, *, unit: str = "characters") -> Calibrator:
    """A calibrator whose scale is ``ratio`` characters per token, from one sample."""
    calibrator = Calibrator(unit=unit)  # type: ignore[arg-type]
    per_raw = NEUTRAL if unit == "tokens" else 1
    report(calibrator, 0, 1000)
    assert report(calibrator, 1000 * ratio / per_raw, 2000).verdict is Verdict.LEARNED
    return calibrator


# --- forecast


def test_before_any_report_tokens_count_as_they_are_and_characters_by_four() -> None:
    assert Calibrator().forecast(raw=1234) == 1234
    assert Calibrator(unit="characters").forecast(raw=1001) == 251


def test_forecast_is_the_last_report_and_the_scaled_rest() -> None:
    calibrator = Calibrator(unit="characters")
    report(calibrator, 2_000, 30_500)
    assert calibrator.forecast(raw=2_000) == 30_500
    assert calibrator.forecast(raw=6_000) == 31_500
    report(calibrator, 4_000, 31_500)  # 2,000 characters were 1,000 tokens
    assert calibrator.scale() == 2.0
    assert calibrator.forecast(raw=5_000) == 32_000


def test_forecast_follows_content_that_left_without_a_compaction() -> None:
    calibrator = Calibrator()
    report(calibrator, 5_000, 25_000)
    assert calibrator.forecast(raw=4_000) == 24_000
    assert calibrator.forecast(raw=0) == 20_000


def test_forecast_is_never_below_zero() -> None:
    calibrator = Calibrator()
    report(calibrator, 10_000, 8_000)
    assert calibrator.forecast(raw=1_000) == 0


def test_both_units_learn_the_same() -> None:
    in_tokens, in_characters = Calibrator(), Calibrator(unit="characters")
    for raw, tokens in ((500, 9_000), (1_500, 10_250), (4_000, 13_000), (4_300, 13_290)):
        report(in_tokens, raw, tokens)
        report(in_characters, raw * NEUTRAL, tokens)
        assert in_tokens.scale() == in_characters.scale()
        assert in_tokens.forecast(raw=9_000) == in_characters.forecast(raw=9_000 * NEUTRAL)


def test_models_are_kept_apart() -> None:
    calibrator = Calibrator()
    for raw, tokens in ((100, 1_000), (1_100, 3_000)):
        sent = calibrator.sent(raw=raw, provider="anthropic", model="a")
        calibrator.observe(sent, {"input_tokens": tokens})
    assert calibrator.scale(provider="anthropic", model="a") == 2.0
    assert calibrator.scale(provider="bedrock", model="a") == NEUTRAL
    assert calibrator.samples(provider="anthropic", model="b") == 0
    assert calibrator.forecast(raw=1_100, provider="anthropic", model="b") == 1_100


# --- what a sample is


def test_moving_average_takes_the_first_sample_whole_and_then_three_tenths() -> None:
    calibrator = Calibrator(unit="characters")
    report(calibrator, 0, 1_000)
    report(calibrator, 3_000, 2_000)
    assert calibrator.scale() == 3.0
    seen = report(calibrator, 8_000, 3_000)
    assert seen == Observation(verdict=Verdict.LEARNED, tokens=3_000, sample=5.0)
    assert calibrator.scale() == pytest.approx(3.0 + ALPHA * 2.0)
    assert calibrator.samples() == 2


def test_a_fixed_overhead_does_not_enter_the_scale() -> None:
    """30,000 tokens of tools that the history does not show; the text itself has four characters a token."""
    calibrator = Calibrator(unit="characters")
    assert report(calibrator, 2_000, 30_500).verdict is Verdict.ANCHORED
    assert calibrator.samples() == 0
    assert report(calibrator, 402_000, 130_500).verdict is Verdict.LEARNED
    assert calibrator.scale() == 4.0
    assert calibrator.overhead() == 30_000


@pytest.mark.parametrize("first", [3.6, 4.0, 5.0])
def test_wild_samples_move_nothing_and_tame_ones_little(first: float) -> None:
    calibrator = learned(first)
    raw, tokens, scale = 10**7, 10_000, calibrator.scale()
    report(calibrator, raw, tokens)
    scale = calibrator.scale()
    for sample in (3.9, 4.1, 0.01, 400.0, 1e12, 0.0, 0.49, 12.1):
        raw += max(1, int(sample * 1000)) if sample < 1e6 else 10**15
        tokens += 1000
        report(calibrator, raw, tokens)
        now = calibrator.scale()
        if BAND[0] <= sample <= BAND[1]:
            assert abs(now - scale) <= ALPHA * abs(sample - scale) + 1e-2
        else:
            assert now == scale
        scale = now


@pytest.mark.parametrize(
    ("ratio", "scale"), [(0.5, CLAMP[0]), (0.9, CLAMP[0]), (1.5, 1.5), (6.5, CLAMP[1]), (12, CLAMP[1])]
)
def test_samples_in_the_band_are_taken_and_the_state_is_clamped(ratio: float, scale: float) -> None:
    assert learned(ratio).scale() == scale


def test_out_of_band_moves_the_anchor_only() -> None:
    calibrator = learned(4)
    before = calibrator.scale()
    seen = report(calibrator, 4_100, 3_500)  # 1,500 hidden tokens beside 100 characters
    assert seen.verdict is Verdict.OUT_OF_BAND
    assert seen.verdict.accepted
    assert calibrator.scale() == before
    assert calibrator.forecast(raw=4_100) == 3_500


# --- what is refused


@pytest.mark.parametrize(
    ("usage", "verdict"),
    [
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, Verdict.ZERO),
        ({"prompt_tokens": -3}, Verdict.NOT_A_COUNT),
        ({"prompt_tokens": math.nan}, Verdict.NOT_A_COUNT),
        ({"prompt_tokens": math.inf}, Verdict.NOT_A_COUNT),
        ({"completion_tokens": 3}, Verdict.MISSING),
        (None, Verdict.MISSING),
        ({"prompt_tokens": 10**30}, Verdict.AGGREGATED),
    ],
)
def test_no_measurement_changes_nothing(usage: Any, verdict: Verdict) -> None:
    for calibrator in (Calibrator(), learned(3, unit="tokens")):
        before = calibrator.to_json()
        seen = calibrator.observe(calibrator.sent(raw=5_000), usage)
        assert seen.verdict is verdict
        assert not seen.verdict.accepted
        assert calibrator.to_json() == before


def test_a_server_that_reports_zero_leaves_the_estimate_in_charge() -> None:
    calibrator = Calibrator(window=16_384)
    for raw in (1_000, 8_000, 30_000):
        assert calibrator.forecast(raw=raw) == raw
        assert report(calibrator, raw, 0).verdict is Verdict.ZERO
    assert calibrator.forecast(raw=30_000) > 16_384


def test_cached_tokens_are_not_added_to_a_prompt_that_holds_them() -> None:
    calibrator = Calibrator(window=400_000)
    usage = {"prompt_tokens": 184_704, "prompt_tokens_details": {"cached_tokens": 183_936}}
    assert calibrator.observe(calibrator.sent(raw=180_000), usage).tokens == 184_704
    assert calibrator.forecast(raw=180_000) == 184_704


def test_sums_over_a_turn_are_refused_by_the_window() -> None:
    calibrator = Calibrator(window=300_000)
    report(calibrator, 150_000, 160_000)
    summed = {"input_tokens": 40_000, "cache_read_input_tokens": 819_000}
    seen = calibrator.observe(calibrator.sent(raw=153_000), summed)
    assert (seen.verdict, seen.tokens) == (Verdict.AGGREGATED, 859_000)
    assert calibrator.forecast(raw=153_000) == 163_000
    assert report(calibrator, 154_000, 164_000).verdict is Verdict.LEARNED


def test_window_of_the_call_goes_before_that_of_the_constructor() -> None:
    calibrator = Calibrator(window=1_000)
    assert report(calibrator, 900, 1_001).verdict is Verdict.AGGREGATED
    assert report(calibrator, 900, 1_001, window=2_000).verdict is Verdict.ANCHORED
    assert report(Calibrator(window=1_000), 900, 1_000).verdict is Verdict.ANCHORED


def test_sums_below_the_window_wait_for_a_second_opinion() -> None:
    calibrator = Calibrator(window=300_000)
    report(calibrator, 20_000, 30_000)
    assert report(calibrator, 21_000, 93_000).verdict is Verdict.DOUBTFUL  # three calls in one figure
    assert report(calibrator, 22_000, 160_000).verdict is Verdict.DOUBTFUL  # five
    assert calibrator.forecast(raw=22_000) == 32_000
    assert report(calibrator, 23_000, 33_000).verdict is Verdict.LEARNED
    assert calibrator.scale() == NEUTRAL


def test_a_jump_that_stays_is_believed_at_the_second_report() -> None:
    calibrator = Calibrator()
    report(calibrator, 1_000, 1_500)
    assert report(calibrator, 1_100, 41_600).verdict is Verdict.DOUBTFUL  # tools were switched on
    assert report(calibrator, 1_500, 42_000).verdict is Verdict.OUT_OF_BAND
    assert calibrator.forecast(raw=2_000) == 42_500


def test_growth_that_the_text_explains_is_not_doubted() -> None:
    calibrator = Calibrator()
    report(calibrator, 1_000, 1_000)
    assert report(calibrator, 51_000, 71_000).verdict is Verdict.LEARNED


@pytest.mark.parametrize("unit", ["tokens", "characters"])
def test_silent_truncation_is_flagged_and_not_learned(unit: Any) -> None:
    calibrator = Calibrator(window=32_768, unit=unit)
    scale = 1 if unit == "tokens" else NEUTRAL
    for more in (0, 300, 600):
        seen = report(calibrator, (50_000 + more) * scale, 16_386)
        assert seen.verdict is Verdict.TRUNCATED
    assert calibrator.samples() == 0
    assert calibrator.forecast(raw=50_000 * scale) == 50_000


def test_silent_truncation_after_honest_reports() -> None:
    calibrator = Calibrator()
    report(calibrator, 9_000, 10_000)
    report(calibrator, 12_000, 13_000)
    assert report(calibrator, 30_000, 8_192).verdict is Verdict.TRUNCATED
    assert calibrator.forecast(raw=30_000) == 31_000


def test_tools_that_were_taken_away_are_no_truncation() -> None:
    calibrator = Calibrator()
    report(calibrator, 2_000, 42_000)
    assert report(calibrator, 2_500, 12_500).verdict is Verdict.OUT_OF_BAND
    assert calibrator.forecast(raw=3_000) == 13_000


def test_text_with_long_tokens_is_no_truncation() -> None:
    calibrator = Calibrator(unit="characters")
    assert report(calibrator, 100_000, 10_000).verdict is Verdict.ANCHORED


# --- compaction


def test_after_a_compaction_the_old_size_is_gone_and_the_scale_stays() -> None:
    calibrator = Calibrator(window=300_000)
    report(calibrator, 200_000, 200_000)
    report(calibrator, 280_000, 292_000)
    assert calibrator.anchored()
    scale = calibrator.scale()
    calibrator.compacted()
    assert not calibrator.anchored()
    assert calibrator.scale() == scale
    assert calibrator.forecast(raw=40_000) < 50_000


def test_an_estimate_after_a_compaction_is_not_added_to_usage_before_it() -> None:
    calibrator = Calibrator(window=272_000)
    report(calibrator, 260_000, 265_444)
    calibrator.compacted()
    assert calibrator.forecast(raw=120_624) == 120_624


def test_a_request_sent_before_the_compaction_is_stale() -> None:
    calibrator = Calibrator()
    report(calibrator, 50_000, 60_000)
    late = calibrator.sent(raw=90_000)
    calibrator.compacted()
    assert calibrator.observe(late, {"prompt_tokens": 100_000}).verdict is Verdict.STALE
    assert calibrator.observe_overflow(late, 100_000).verdict is Verdict.STALE
    assert calibrator.forecast(raw=20_000) == 20_000


def test_the_first_report_after_a_compaction_gives_no_sample() -> None:
    calibrator = learned(4)
    calibrator.compacted()
    assert report(calibrator, 4_000, 2_000).verdict is Verdict.ANCHORED
    assert calibrator.samples() == 1


def test_reports_that_come_back_out_of_order() -> None:
    calibrator = Calibrator()
    early, late = calibrator.sent(raw=1_000), calibrator.sent(raw=2_000)
    assert calibrator.observe(late, {"prompt_tokens": 2_500}).verdict is Verdict.ANCHORED
    assert calibrator.observe(early, {"prompt_tokens": 1_500}).verdict is Verdict.STALE
    assert calibrator.observe(late, {"prompt_tokens": 2_500}).verdict is Verdict.STALE
    assert calibrator.forecast(raw=2_000) == 2_500


def test_the_overhead_is_kept_over_a_compaction() -> None:
    calibrator = Calibrator()
    report(calibrator, 500, 20_500)
    assert calibrator.overhead() == 0  # one report cannot tell overhead from scale
    report(calibrator, 90_500, 110_500)
    calibrator.compacted()
    assert calibrator.overhead() == 20_000
    assert calibrator.forecast(raw=10_000) == 30_000
    assert calibrator.raw_within(30_000) in (9_999, 10_000)
    assert calibrator.raw_within(20_000) == 0
    assert calibrator.raw_within(5) == 0


def test_the_next_conversation_brings_its_own_overhead() -> None:
    calibrator = Calibrator()
    report(calibrator, 500, 20_500)
    report(calibrator, 10_500, 30_500)
    calibrator.compacted()
    report(calibrator, 4_000, 9_000)
    calibrator.compacted()
    assert calibrator.overhead() == 5_000
    assert calibrator.forecast(raw=1_000) == 6_000


@given(
    st.floats(0.5, 12),
    st.integers(0, 100_000),
    st.integers(0, 500_000),
    st.sampled_from(["tokens", "characters"]),
)
def test_raw_within_keeps_its_promise(ratio: float, overhead: int, limit: int, unit: Any) -> None:
    calibrator = Calibrator(unit=unit)
    per_raw = NEUTRAL if unit == "tokens" else 1
    report(calibrator, 0, overhead + 1)
    report(calibrator, 10_000 * ratio / per_raw, overhead + 10_001)
    calibrator.compacted()
    raw = calibrator.raw_within(limit)
    assert raw >= 0
    if raw:
        assert calibrator.forecast(raw=raw) <= limit
        assert calibrator.forecast(raw=raw + 8) >= limit


# --- overflow errors


def test_a_measured_overflow_is_one_sample() -> None:
    calibrator = Calibrator(window=100_000, unit="characters")
    seen = calibrator.observe_overflow(calibrator.sent(raw=360_000), 120_000)
    assert (seen.verdict, seen.sample) == (Verdict.LEARNED, 3.0)
    assert calibrator.scale() == 3.0


def test_a_measured_overflow_against_an_anchor_is_a_difference() -> None:
    calibrator = Calibrator(window=100_000)
    report(calibrator, 10_000, 50_000)
    seen = calibrator.observe_overflow(calibrator.sent(raw=60_000), 150_000)
    assert seen.sample == 2.0


def test_overflow_after_a_compaction_leaves_the_known_overhead_out() -> None:
    calibrator = Calibrator()
    report(calibrator, 0, 20_000)
    report(calibrator, 10_000, 30_000)
    calibrator.compacted()
    seen = calibrator.observe_overflow(calibrator.sent(raw=100_000), 120_000)
    assert seen.sample == NEUTRAL


def test_at_least_teaches_nothing() -> None:
    calibrator = Calibrator()
    before = calibrator.to_json()
    seen = calibrator.observe_overflow(calibrator.sent(raw=40_000), 40_861, measured=False)
    assert (seen.verdict, seen.tokens) == (Verdict.AT_LEAST, 40_861)
    assert calibrator.to_json() == before


@pytest.mark.parametrize("figure", [0, -1, None, math.nan, "130000", 10**12, True])
def test_nonsense_in_an_overflow_error(figure: Any) -> None:
    calibrator = Calibrator()
    assert not calibrator.observe_overflow(calibrator.sent(raw=40_000), figure).verdict.accepted
    assert calibrator.samples() == 0


# --- bad arguments


@pytest.mark.parametrize("raw", [-1, math.nan, math.inf, None, "12", True, 10**400])
def test_a_raw_count_must_be_a_count(raw: Any) -> None:
    for call in (Calibrator().sent, Calibrator().forecast):
        with pytest.raises(InvalidInput, match="raw") as caught:
            call(raw=raw)
        assert caught.value.field == "raw"


@pytest.mark.parametrize("window", [0, -1, 1.5, True, "200k"])
def test_window_and_unit_are_checked(window: Any) -> None:
    with pytest.raises(InvalidPolicy):
        Calibrator(window=window)
    calibrator = Calibrator()
    with pytest.raises(InvalidPolicy):
        calibrator.observe(calibrator.sent(raw=1), {"prompt_tokens": 1}, window=window)
    with pytest.raises(InvalidPolicy):
        Calibrator(unit=window)


# --- saving


def test_a_saved_calibrator_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    calibrator = learned(3.3)
    report(calibrator, 9_000, 4_000)
    path = tmp_path / "calibration.json"
    calibrator.save(path)
    calibrator.save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["calibration.json"]
    again = Calibrator.load(path)
    assert again.to_json() == calibrator.to_json()
    for one in (calibrator, again):
        report(one, 20_000, 8_000)
    assert again.to_json() == calibrator.to_json()
    again.compacted()
    assert not again.anchored()


def test_saving_into_no_folder_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        Calibrator().save(tmp_path / "nowhere" / "file.json")
    with pytest.raises(OSError, match="missing"):
        Calibrator.load(tmp_path / "missing.json")


def test_a_save_that_fails_half_way_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "taken"
    (target / "inside").mkdir(parents=True)
    with pytest.raises(OSError, match="taken"):
        Calibrator().save(target)
    assert [entry.name for entry in tmp_path.iterdir()] == ["taken"]


@pytest.mark.parametrize(
    "text", [b"", b"{", b"\xff\xfe", b"NaN", b"[1,", b'{"version":1,\n"unit" 3}', b"[" * 100_000]
)
def test_text_that_is_no_json(text: bytes) -> None:
    with pytest.raises(InvalidJSON) as caught:
        Calibrator.from_json(text)
    assert caught.value.line >= 1
    assert caught.value.offset >= 0


def test_the_place_of_the_fault() -> None:
    with pytest.raises(InvalidJSON) as caught:
        Calibrator.from_json('{"é": 1,\n  "unit" 3}')
    assert (caught.value.line, caught.value.column, caught.value.offset) == (2, 10, 19)


def damaged(**changes: Any) -> bytes:
    content = json.loads(learned(3).to_json())
    for key, value in changes.items():
        target = content if key in content else content["states"][0]
        target[key] = value
    return json.dumps(content).encode()


@pytest.mark.parametrize(
    "data",
    [
        b"null",
        b"[]",
        b"{}",
        damaged(version=2),
        damaged(unit="words"),
        damaged(window="200k"),
        damaged(scale=0.99),
        damaged(scale=6.01),
        damaged(scale="3"),
        damaged(scale=None),
        damaged(samples=-1),
        damaged(samples=0),
        damaged(samples=1.5),
        damaged(anchor={"tokens": 0, "chars": 5}),
        damaged(anchor={"tokens": 5, "chars": -5}),
        damaged(anchor={"tokens": 10**9, "chars": 5}),
        damaged(base={"tokens": 5, "chars": 1e300}),
        damaged(doubt=[1, 2]),
        damaged(surprise=1),
        damaged(states=[json.loads(learned(3).to_json())["states"][0]] * 2),
    ],
)
def test_a_state_outside_its_bounds(data: bytes) -> None:
    with pytest.raises(InvalidInput, match="delete it and start with a new Calibrator"):
        Calibrator.from_json(data)


def test_a_saved_window_is_checked_too() -> None:
    with pytest.raises(InvalidPolicy):
        Calibrator.from_json(damaged(window=0))


# --- threads and chance


def test_many_threads_leave_a_state_that_one_thread_could_have_left() -> None:
    calibrator = Calibrator()
    start = threading.Barrier(8)

    def work(seed: int) -> None:
        chance = random.Random(seed)
        start.wait()
        for _ in range(300):
            raw = chance.randrange(1, 10**6)
            sent = calibrator.sent(raw=raw, model=str(seed % 3))
            calibrator.observe(sent, {"prompt_tokens": int(raw * chance.uniform(0.1, 3)) or 1})
            calibrator.forecast(raw=raw, model=str(seed % 3))
            if chance.random() < 0.02:
                calibrator.compacted()

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    Calibrator.from_json(calibrator.to_json())


numbers = st.integers(-10, 2_000_000) | st.floats() | st.sampled_from([0, -1, 10**20, math.nan, math.inf])


class AnyLife(RuleBasedStateMachine):
    """Whatever is reported, in whatever order: never outside the clamp, never NaN, always loadable."""

    def __init__(self) -> None:
        super().__init__()
        self.calibrator = Calibrator(window=1_000_000)
        self.sent = [self.calibrator.sent(raw=0)]

    @rule(raw=st.integers(0, 4_000_000) | st.floats(0, 1e15))
    def send(self, raw: float) -> None:
        self.sent.append(self.calibrator.sent(raw=raw))

    @rule(tokens=numbers, which=st.integers(0, 5))
    def observe(self, tokens: float, which: int) -> None:
        sent = self.sent[-1 - which % len(self.sent)]
        before = self.calibrator.scale()
        seen = self.calibrator.observe(sent, {"input_tokens": tokens})
        assert seen.verdict.accepted or self.calibrator.scale() == before
        if seen.verdict.accepted:
            assert math.isclose(self.calibrator.forecast(raw=sent.raw), tokens)

    @rule(tokens=numbers, measured=st.booleans())
    def overflow(self, tokens: float, measured: bool) -> None:  # noqa: FBT001  hypothesis passes by name
        self.calibrator.observe_overflow(self.sent[-1], tokens, measured=measured)

    @rule()
    def compact(self) -> None:
        self.calibrator.compacted()
        assert not self.calibrator.anchored()

    @rule()
    def restart(self) -> None:
        data = self.calibrator.to_json()
        self.calibrator = Calibrator.from_json(data)
        assert self.calibrator.to_json() == data
        self.sent = [self.calibrator.sent(raw=0)]

    @invariant()
    def inside_the_clamp(self) -> None:
        assert CLAMP[0] <= self.calibrator.scale() <= CLAMP[1]

    @invariant()
    def forecasts_are_counts(self) -> None:
        sizes = [self.calibrator.forecast(raw=raw) for raw in (0, 1, 1_000, 10**6)]
        assert sizes == sorted(sizes)
        assert sizes[0] >= 0


AnyLife.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestAnyLife = AnyLife.TestCase


# --- real sessions


def test_recorded_sessions_are_forecast_within_the_limits() -> None:
    script = ROOT / "benches" / "python" / "check_calibration.py"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(  # noqa: S603  our own script
        [sys.executable, str(script)], capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failed" in done.stdout
