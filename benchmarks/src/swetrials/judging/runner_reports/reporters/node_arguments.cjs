// Loaded by every Node program before it begins: jest, vitest and mocha, which no variable gives a reporter, get one more
// word on their command line. All other programs are left as they are.
'use strict';
const { dirname, join, sep } = require('node:path');

const report = process.env.SWETRIALS_REPORT;
const program = (process.argv[1] ?? '').split(sep).slice(-3).join('/');
if (report) {
  const folder = dirname(report);
  if (/(^|\/)(jest\/bin\/jest(\.js)?|\.bin\/jest|jest-cli\/bin\/jest\.js)$/.test(program)) {
    process.argv.push('--json', `--outputFile=${join(folder, 'jest.json')}`);
  } else if (/(^|\/)(vitest\/vitest\.mjs|\.bin\/vitest)$/.test(program)) {
    process.argv.push('--reporter=default', '--reporter=json', `--outputFile.json=${join(folder, 'vitest.json')}`);
  } else if (/(^|\/)(mocha\/bin\/_?mocha(\.[cm]?js)?|\.bin\/_?mocha)$/.test(program)) {
    // It takes one reporter, and may start itself once more with the words that are left here.
    const given = process.argv.slice(2);
    const at = given.findIndex((word) => /^(--reporter|-R)(=|$)/.test(word));
    if (at >= 0) given.splice(at, given[at].includes('=') ? 1 : 2);
    process.env.SWETRIALS_MOCHA_REPORT = join(folder, 'mocha.xml');
    process.argv.splice(2, Infinity, '--reporter', join(__dirname, 'mocha_reporter.cjs'), ...given);
  }
}
