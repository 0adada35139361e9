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
    // Of two reporters mocha takes the last one.
    process.env.SWETRIALS_MOCHA_REPORT = join(folder, 'mocha.xml');
    process.argv.push('--reporter', join(__dirname, 'mocha_reporter.cjs'));
  }
}
