// A reporter for mocha: JUnit XML, in which its own puts failures where it counts errors, and which old versions can
// write nowhere but to standard output. Titles are as mocha's "xunit" has them: the suite's full title, then the test's.
'use strict';
const { writeFileSync } = require('node:fs');

const ESCAPES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\n': '&#10;', '\t': '&#9;' };
// What XML 1.0 has no word for is left out.
const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

function escaped(text) {
  return String(text).replace(FORBIDDEN, '').replace(/[&<>"\n\t]/g, (found) => ESCAPES[found]);
}

module.exports = function Reporter(runner) {
  const cases = [];
  const note = (test, mark) => {
    const suite = test.parent ? test.parent.fullTitle() : '';
    cases.push(`<testcase classname="${escaped(suite)}" name="${escaped(test.title)}">${mark}</testcase>`);
  };
  runner.on('pass', (test) => note(test, ''));
  runner.on('pending', (test) => note(test, '<skipped/>'));
  runner.on('fail', (test, error) => {
    note(test, '<failure/>');
    console.log(`failed: ${test.fullTitle ? test.fullTitle() : test.title}: ${error && error.message}`);
  });
  runner.on('end', () => {
    writeFileSync(process.env.SWETRIALS_MOCHA_REPORT, `<testsuite name="mocha">${cases.join('')}</testsuite>\n`);
    console.log(`${cases.length} tests`);
  });
};
