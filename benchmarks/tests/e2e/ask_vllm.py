"""Run by vLLM's own Python: what the real vLLM makes of the registry's commands, given as JSON on standard input."""

import json
import sys

from vllm.engine.arg_utils import AsyncEngineArgs  # type: ignore[import-not-found]
from vllm.entrypoints.launchers.cli_args import make_arg_parser  # type: ignore[import-not-found]
from vllm.reasoning import ReasoningParserManager  # type: ignore[import-not-found]
from vllm.tool_parsers import ToolParserManager  # type: ignore[import-not-found]
from vllm.utils.argparse_utils import FlexibleArgumentParser  # type: ignore[import-not-found]


def main() -> None:
    """Print, as JSON, what each command parses to, which parsers there are, and the window of a scaled model."""
    asked = json.load(sys.stdin)
    parser = make_arg_parser(FlexibleArgumentParser())
    parsed = {name: parser.parse_args(words) for name, words in asked["commands"].items()}
    scaled = parsed[asked["scaled"]]
    scaled.model, scaled.tensor_parallel_size = asked["folder"], 1
    answer = {
        "windows": {name: arguments.max_model_len for name, arguments in parsed.items()},
        "tool_call_parsers": ToolParserManager.list_registered(),
        "reasoning_parsers": ReasoningParserManager.list_registered(),
        "scaled_window": AsyncEngineArgs.from_cli_args(scaled).create_model_config().max_model_len,
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
