"""The table of models: names of every spelling, overrides, unknown models, and the snapshot itself."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import pickle
import re
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lithify import models
from lithify.errors import InvalidInput, InvalidPolicy, UnknownModel
from lithify.models import DEFAULT_WINDOW, Model, lookup, names, register_model, unregister_model

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

DATA = Path(models.__file__).parent / "data"
TOOL = Path(__file__).resolve().parents[1] / "tools" / "build_models.py"


@pytest.fixture(autouse=True)
def _nothing_registered() -> Iterator[None]:
    yield
    for name in list(models._registered):
        unregister_model(name)


# --- names


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("gpt-4o", "gpt-4o"),
        (" GPT-4o ", "gpt-4o"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("openai/gpt-4o", "gpt-4o"),
        ("openrouter/openai/gpt-4o:extended", "gpt-4o"),
        ("azure/eu/gpt-4o", "gpt-4o"),
        ("azure/gpt-35-turbo", "gpt-3.5-turbo"),
        ("ft:gpt-4o-mini-2024-07-18:acme:support:9abc", "gpt-4o-mini"),
        ("gpt-4-0613", "gpt-4"),
        ("gpt-4o-audio-preview", "gpt-4o"),
        ("claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("bedrock/global.anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
        ("us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("vertex_ai/claude-opus-4-6@default", "claude-opus-4-6"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("anthropic/claude-3.5-sonnet:beta", "claude-3-5-sonnet"),
        ("claude-3-5-haiku-latest", "claude-3-5-haiku"),
        ("claude-4-sonnet", "claude-sonnet-4"),
        (
            "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "claude-sonnet-4-5",
        ),
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("publishers/google/models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("gemini/gemini-2.5-flash-preview-05-20", "gemini-2.5-flash-preview"),
        ("google/gemini-2.5-flash:free", "gemini-2.5-flash"),
        ("deepseek/deepseek-chat", "deepseek-chat"),
        ("deepseek/deepseek-v3", "deepseek-v3"),
        ("amazon-nova/nova-pro-v1", "nova-pro"),
        ("eu.amazon.nova-pro-v1:0", "nova-pro"),
        ("mistral/mistral-large-2512", "mistral-large"),
        ("groq/openai/gpt-oss-120b", "gpt-oss-120b"),
        ("meta-llama/llama-3.3-70b-instruct:free", "llama-3.3-70b-instruct"),
        ("o3-mini-2025-01-31", "o3-mini"),
    ],
)
def test_spellings_of_known_models(spelled: str, name: str) -> None:
    model = lookup(spelled)
    assert (model.name, model.known) == (name, True)


@pytest.mark.parametrize(
    ("name", "window", "max_output", "encoding", "provider"),
    [
        ("gpt-4o", 128_000, 16_384, "o200k_base", "openai"),
        ("gpt-4", 8_192, 4_096, "cl100k_base", "openai"),
        ("gpt-4-turbo", 128_000, 4_096, "cl100k_base", "openai"),
        ("gpt-4.1", 1_047_576, 32_768, "o200k_base", "openai"),
        ("o3", 200_000, 100_000, "o200k_base", "openai"),
        ("gpt-5", 400_000, 128_000, "o200k_base", "openai"),
        ("claude-sonnet-4-5", 200_000, 64_000, "claude", "anthropic"),
        ("gemini-2.5-pro", 1_048_576, 65_535, "gemini", "google"),
    ],
)
def test_published_figures(name: str, window: int, max_output: int, encoding: str, provider: str) -> None:
    model = lookup(name)
    assert (model.window, model.max_output, model.encoding, model.provider) == (
        window,
        max_output,
        encoding,
        provider,
    )


def test_a_dated_model_that_differs_has_its_own_figures() -> None:
    assert lookup("gpt-4o-2024-05-13").max_output == 4_096


def test_a_host_that_serves_less() -> None:
    assert lookup("github_copilot/gpt-4o").window < lookup("gpt-4o").window


def test_cache_minimum() -> None:
    assert lookup("gpt-4o").cache_minimum == 1_024
    assert lookup("claude-haiku-4-5").cache_minimum == 4_096
    assert lookup("deepseek-chat").cache_minimum is None


@pytest.mark.parametrize(
    ("name", "exact"), [("gpt-4o", True), ("gpt-4", True), ("gpt-oss-20b", True), ("claude-opus-5", False)]
)
def test_which_models_can_be_counted_exactly(name: str, *, exact: bool) -> None:
    assert lookup(name).exact is exact


# --- limits


def test_reserve_is_the_reply_but_at_most_fifteen_percent() -> None:
    assert Model(name="m", provider="", window=100_000, max_output=4_096).reserve == 4_096
    assert Model(name="m", provider="", window=100_000, max_output=64_000).reserve == 15_000
    assert Model(name="m", provider="", window=100_000).input_limit == 85_000


def test_an_input_limit_below_the_window_is_kept() -> None:
    model = lookup("gpt-5")
    assert model.max_input == 272_000
    assert model.input_limit == 272_000
    assert model.reserve == 128_000


def test_every_model_leaves_room_for_a_prompt() -> None:
    for name in names():
        model = lookup(name)
        assert 0 < model.input_limit <= (model.max_input or model.window)
        assert model.max_output is None or model.max_output > 0
        assert model.known


# --- unknown models


@pytest.mark.parametrize(
    ("name", "window", "encoding"),
    [
        ("frontier-9", DEFAULT_WINDOW, "estimate"),
        ("my-org/finetune-v3", DEFAULT_WINDOW, "estimate"),
        ("claude-saga-9", 200_000, "claude"),
        ("anthropic/claude-opus-4-99", 200_000, "claude"),
        ("gpt-99", 128_000, "o200k_base"),
        ("gpt-5.99", 128_000, "o200k_base"),
        ("gemini-99-pro", 131_072, "gemini"),
        ("o9-mini", 128_000, "o200k_base"),
        ("gpt-4o-", 128_000, "o200k_base"),
        ("/", DEFAULT_WINDOW, "estimate"),
        (":0", DEFAULT_WINDOW, "estimate"),
        ("claude", 200_000, "claude"),
    ],
)
def test_unknown_models_warn_and_get_a_conservative_window(name: str, window: int, encoding: str) -> None:
    with pytest.warns(UnknownModel, match=f"{window:,}") as caught:
        model = lookup(name)
    assert (model.window, model.encoding, model.known) == (window, encoding, False)
    assert caught[0].filename == __file__
    warning = caught[0].message
    assert isinstance(warning, UnknownModel)
    assert (warning.model, warning.window) == (name, window)


def test_the_families_assume_no_more_than_their_current_models_have() -> None:
    for _, provider, encoding, window in models._FAMILIES:
        current = [
            model
            for name in names()
            if "/" not in name and (model := lookup(name)).provider == provider and model.encoding == encoding
        ]
        assert current
        below = sorted(model.name for model in current if model.window < window)
        # Retired: Claude before 2.1, and Claude 3 Haiku, of which hosts give the input without the reply.
        assert set(below) <= {"claude-instant", "claude-v1", "claude-3-haiku"}


@pytest.mark.parametrize("name", ["", "   ", "x" * 301, None, 5, b"gpt-4o", ["gpt-4o"]])
def test_what_is_no_name(name: Any) -> None:
    for call in (lookup, unregister_model, lambda n: register_model(n, window=1000)):
        with pytest.raises(InvalidInput):
            call(name)


@given(st.text(min_size=1, max_size=400))
def test_any_text_is_a_model_or_an_error(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownModel)
        try:
            model = lookup(name)
        except InvalidInput:
            return
    assert model.input_limit > 0


@given(
    st.sampled_from(names()),
    st.sampled_from(["", "openai/", "models/", "azure/eu/", "us.anthropic.", "OpenRouter/acme/"]),
    st.sampled_from(["", ":free", "@20250101", "-2025-01-01", "-20250101", "-latest", "-v1:0", "-v2:0"]),
)
def test_wrappings_never_change_the_figures_or_make_it_unknown(name: str, before: str, after: str) -> None:
    """A host's own entry and a dated entry count only for the exact name; else the maker's figures do."""
    if "/" in name:
        return
    plain, wrapped = lookup(name), lookup(before + name + after)
    assert wrapped.known
    assert wrapped.encoding == plain.encoding


# --- overrides


def test_a_registered_model_goes_before_the_table() -> None:
    register_model("gpt-4o", window=64_000, max_output=1_000, encoding="o200k_base", provider="mine")
    assert lookup("gpt-4o").window == 64_000
    assert lookup("openai/gpt-4o-2024-08-06").window == 64_000
    unregister_model("GPT-4o")
    assert lookup("gpt-4o").window == 128_000


def test_a_registered_model_is_found_behind_hosts_and_dates() -> None:
    made = register_model("My-LLM", window=50_000)
    assert made.name == "my-llm"
    assert lookup("azure/my-llm") is made
    assert lookup("my-llm-2026-01-01") is made
    assert "my-llm" in names()


def test_the_longer_registered_name_wins() -> None:
    register_model("my-llm", window=50_000)
    hosted = register_model("azure/my-llm", window=20_000)
    assert lookup("azure/my-llm") is hosted
    assert lookup("other/my-llm").window == 50_000


def test_bad_figures() -> None:
    for bad in (0, -1, 1.5, True, None, "200k", float("nan")):
        with pytest.raises(InvalidPolicy, match="window"):
            register_model("m", window=bad)  # type: ignore[arg-type]
    for field in ("max_output", "max_input", "cache_minimum"):
        with pytest.raises(InvalidPolicy, match=field):
            register_model("m", window=1_000, **{field: 0})  # type: ignore[arg-type]
    with pytest.raises(InvalidPolicy, match="max_input"):
        register_model("m", window=1_000, max_input=1_001)
    with pytest.raises(InvalidPolicy, match="encoding"):
        register_model("m", window=1_000, encoding="p50k_base")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="registered"):
        unregister_model("never-seen")
    assert models._registered == {}


def test_threads_register_and_look_up() -> None:
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            for step in range(200):
                register_model(f"llm-{seed}", window=1_000 + step)
                assert lookup(f"host/llm-{seed}").window == 1_000 + step
                assert lookup("gpt-4o").window == 128_000
        except BaseException as error:  # noqa: BLE001  a thread's failure must reach the test
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_models_are_frozen_values() -> None:
    model = lookup("gpt-5")
    with pytest.raises(AttributeError):
        model.window = 1  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(model)) == model  # noqa: S301  our own bytes
    assert msgspec.json.decode(msgspec.json.encode(model), type=Model) == model


# --- the snapshot


def test_the_snapshot_is_the_one_that_its_provenance_names() -> None:
    text = (DATA / "models.json").read_bytes()
    told = json.loads((DATA / "models.provenance.json").read_text())
    assert told["sha256"] == hashlib.sha256(text).hexdigest()
    assert told["models"] == sum(len(group["models"]) for group in json.loads(text)["groups"])
    assert len(text) <= 30_000
    for source in told["sources"]:
        assert source["license"].startswith("MIT")
        assert re.fullmatch(r"[0-9a-f]{64}", source["sha256"])


def test_each_name_stands_once_and_in_its_own_shortest_form() -> None:
    groups = json.loads((DATA / "models.json").read_text())["groups"]
    listed = [name for group in groups for name in group["models"]]
    assert len(listed) == len(set(listed))
    for name in listed:
        host, _, bare = name.rpartition("/")
        assert models._bare(bare) == bare
        assert host in ("", "azure", "github_copilot", "groq")


def test_loading_is_lazy_and_quick() -> None:
    """Measured in a fresh interpreter, best of ten: 5 ms for the table, and a lookup in microseconds."""
    script = (
        "import time; from lithify import models; assert not models._loaded\n"
        "best = 1.0\n"
        "for _ in range(10):\n"
        "    models._loaded.clear(); start = time.perf_counter(); models.lookup('gpt-5')\n"
        "    best = min(best, time.perf_counter() - start)\n"
        "print(best)\n"
    )
    done = subprocess.run(  # noqa: S603  our own script
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(p for p in sys.path if p)},
    )
    assert float(done.stdout) < 0.005


# --- the tool


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_models", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["build_models"] = module
    spec.loader.exec_module(module)
    return module


def fact(source: str, largest: int, reply: int | None = None, **more: Any) -> dict[str, Any]:
    return {
        "litellm_provider": source,
        "mode": "chat",
        "max_input_tokens": largest,
        "max_output_tokens": reply,
        **more,
    }


def built(tool: ModuleType, prices: dict[str, Any], windows: dict[str, int] | None = None) -> dict[str, Any]:
    text = tool.written(tool.build(prices, windows or {}))
    groups = json.loads(text)["groups"]
    return {name: sizes for group in groups for name, sizes in group["models"].items()}


def test_tool_takes_the_maker_before_hosts_and_the_vote_of_hosts_without_one(tool: ModuleType) -> None:
    prices = {
        "mistral/mistral-large": fact("mistral", 262_144, 1_000),
        "azure_ai/mistral-large": fact("azure_ai", 32_000, 1_000),
        "groq/llama-9-70b": fact("groq", 8_000, 100),
        "deepinfra/meta-llama/llama-9-70b": fact("deepinfra", 131_072, 100),
        "together_ai/llama-9-70b": fact("together_ai", 131_072, 100),
    }
    assert built(tool, prices) == {
        "mistral-large": [262_144, 1_000],
        "llama-9-70b": [131_072, 100],
        "groq/llama-9-70b": [8_000, 100],
    }


def test_tool_keeps_a_date_only_where_figures_differ(tool: ModuleType) -> None:
    prices = {
        "gpt-4o": fact("openai", 128_000, 16_384),
        "gpt-4o-2024-05-13": fact("openai", 128_000, 4_096),
        "gpt-4o-2024-08-06": fact("openai", 128_000, 16_384),
    }
    assert built(tool, prices) == {"gpt-4o": [128_000, 16_384], "gpt-4o-2024-05-13": [128_000, 4_096]}


def test_tool_splits_window_and_input_only_where_they_add_up(tool: ModuleType) -> None:
    prices = {
        "gpt-5": fact("openai", 272_000, 128_000),
        "gpt-5-mini": fact("openai", 272_000, 128_000),
        "gpt-5.1": fact("openai", 400_000, 128_000),
        "azure/gpt-5.1": fact("azure", 272_000, 128_000),
    }
    assert built(tool, prices, {"gpt-5": 400_000, "gpt-5-mini": 500_000}) == {
        "gpt-5": [400_000, 128_000, 272_000],
        "gpt-5-mini": [272_000, 128_000],
        "gpt-5.1": [400_000, 128_000, 272_000],
    }


def test_tool_leaves_out_what_is_not_text(tool: ModuleType) -> None:
    prices = {
        "gpt-4o-realtime-preview": fact("openai", 32_000, 4_096),
        "gpt-image-9": fact("openai", 32_000, 4_096),
        "text-embedding-9": fact("openai", 8_000),
        "gpt-9": {**fact("openai", 1_000, 10), "mode": "image_generation"},
        "gpt-8": {**fact("openai", 1_000, 10), "max_input_tokens": None},
        "claude": fact("bedrock", 100_000, 8_000),
        "someone/gpt-7": fact("someone", 1_000, 10),
    }
    assert built(tool, prices) == {}


def test_tool_reads_windows_without_running_the_source(tool: ModuleType) -> None:
    source = (
        "raise SystemExit('never run')\n"
        "providers = [Provider(id='openai', models=[ModelInfo(id='gpt-5', context_window=400000), "
        "ModelInfo(id='no-window')]), Provider(id='other', models=[ModelInfo(id='x', context_window=1)])]\n"
    )
    assert tool.context_windows(source) == {"gpt-5": 400_000}


def test_tool_refuses_a_wheel_that_is_not_the_pinned_one(tool: ModuleType, tmp_path: Path) -> None:
    for wheel in (tool.LITELLM, tool.GENAI_PRICES):
        (tmp_path / wheel.file).write_bytes(b"something else")
    done = subprocess.run(  # noqa: S603  our own script
        [sys.executable, str(TOOL), "--check", "--wheels", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "not the pinned wheel" in done.stderr
