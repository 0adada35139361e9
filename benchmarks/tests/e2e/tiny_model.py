"""Makes a tiny language model: random weights, a tokenizer trained on this project's own text.

Run by the Python that vLLM is installed for (``python tiny_model.py FOLDER TEXT...``), which has torch, transformers
and tokenizers; the project's own has none of them. What the model says is noise; its token counts are real.
"""

import sys
from pathlib import Path

import torch  # type: ignore[import-not-found]
from tokenizers import ByteLevelBPETokenizer  # type: ignore[import-not-found]
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM  # type: ignore[import-not-found]

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIAL_TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
WINDOW_TOKENS = 262_144


def make(folder: Path, texts: list[str]) -> None:
    """Write model and tokenizer into ``folder``."""
    trained = ByteLevelBPETokenizer()
    trained.train(texts, vocab_size=8192, special_tokens=SPECIAL_TOKENS, show_progress=False)
    trained.save(str(folder / "trained.json"))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "trained.json"),
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=CHAT_TEMPLATE,
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=WINDOW_TOKENS,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    Qwen2ForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)


if __name__ == "__main__":
    make(Path(sys.argv[1]), sys.argv[2:])
