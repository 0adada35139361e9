#!/usr/bin/env bash
# Stands for Claude Code where it is measured what the harness adds: one request, six files, a result, at once.
# Besides bash it starts one program, cat.
set -eu

[[ $* =~ artifacts_dir:\ ([^[:space:]]+) ]]
artifacts=${BASH_REMATCH[1]}

[[ $ANTHROPIC_BASE_URL =~ ^http://([^:/]+):([0-9]+)(.*)$ ]]
host=${BASH_REMATCH[1]} port=${BASH_REMATCH[2]} path=${BASH_REMATCH[3]}
body='{"model":"m","max_tokens":100,"stream":true,"messages":[{"role":"user","content":"task_id: perf"}]}'
exec 3<>"/dev/tcp/$host/$port"
printf 'POST %s/v1/messages HTTP/1.1\r\nHost: %s:%s\r\nx-api-key: k\r\nContent-Type: application/json\r\nContent-Length: %s\r\nConnection: close\r\n\r\n%s' \
    "$path" "$host" "$port" "${#body}" "$body" >&3
cat <&3 >/dev/null
exec 3>&-

for name in github-issue lld review testing implementation; do
    printf '# %s\n' "$name" >"$artifacts/$name.md"
done
printf 'changed\n' >>folder-0/file-0.txt

usage='"usage":{"input_tokens":10,"output_tokens":20,"cache_read_input_tokens":0,"cache_creation_input_tokens":0}'
printf '%s\n' '{"type":"system","subtype":"init","session_id":"s","model":"m","tools":[]}' \
    '{"type":"assistant","session_id":"s","message":{"id":"msg_1","role":"assistant","model":"m","content":[{"type":"text","text":"Done."}],'"$usage"'}}' \
    '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"duration_ms":1,"duration_api_ms":1,"session_id":"s","result":"Done.",'"$usage"',"modelUsage":{"m":{"inputTokens":10,"outputTokens":20,"cacheReadInputTokens":0,"cacheCreationInputTokens":0}}}'
