import assert from 'node:assert/strict'
import { test } from 'node:test'
import { meaningfulLine } from './log.ts'

for (const { title, lines, expected } of [
  {
    title: 'the fatal line of a server log, not the lines after it',
    lines: [
      '2026-01-01 UTC [1] FATAL:  could not write "x": No space left on device',
      '2026-01-01 UTC [1] LOG:  database system is shut down',
    ],
    expected: 'could not write "x": No space left on device',
  },
  {
    title: 'the error line of a tool, not its hint',
    lines: ['initdb: error: could not create directory "/x": Permission denied', 'initdb: hint: run it elsewhere'],
    expected: 'could not create directory "/x": Permission denied',
  },
  {
    title: 'the last line of a server log without an error line',
    lines: ['one', 'sh: postgres: not found.', ''],
    expected: 'sh: postgres: not found',
  },
  { title: 'a default reason for an empty server log', lines: [''], expected: 'it logged no reason' },
]) {
  test(`returns ${title}`, () => assert.equal(meaningfulLine(lines.join('\n')), expected))
}
