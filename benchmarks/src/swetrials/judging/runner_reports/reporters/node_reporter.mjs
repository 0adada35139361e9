// A reporter of node:test that notes each test in a file of the harness's and prints nothing.
// Events: https://nodejs.org/docs/latest-v20.x/api/test.html#class-testsstream
import { appendFileSync } from 'node:fs';
import { resolve } from 'node:path';

const report = process.env.SWETRIALS_REPORT;

function note(line) {
  if (report) appendFileSync(report, JSON.stringify(line) + '\n');
}

function stateOf(type, data) {
  if (data.skip !== undefined || data.todo !== undefined) return 'skipped';
  return type === 'test:pass' ? 'passed' : 'failed';
}

export default async function* reporter(source) {
  const open = [];
  let ran;
  for await (const { type, data } of source) {
    if (type === 'test:start') {
      open.length = data.nesting;
      open[data.nesting] = data.name;
    } else if (type === 'test:diagnostic' && data.nesting === 0 && /^tests \d+$/.test(data.message)) {
      ran = Number(data.message.slice('tests '.length));
    } else if (type === 'test:pass' || type === 'test:fail') {
      const suite = data.details?.type === 'suite';
      const why = data.details?.error?.failureType;
      if (suite && (type === 'test:pass' || why === 'subtestsFailed')) continue;
      const file = data.file ?? process.argv[1] ?? '';
      const whole = data.nesting === 0 && resolve(data.name) === file; // a file that could not be loaded, or has no tests
      const names = whole ? [] : [...open.slice(0, data.nesting), data.name].map(String);
      const state = stateOf(type, data);
      note({ file, names, state: whole && state === 'failed' ? 'error' : state, counts: !suite });
    }
  }
  if (ran !== undefined) note({ ran });
  yield '';
}
