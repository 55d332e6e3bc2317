import assert from 'node:assert/strict'
import { test } from 'node:test'
import { meaningfulLine } from './log.ts'

for (const { title, lines, expected } of [
  {
    title: 'the fatal line, not what follows it',
    lines: [
      '2026-01-01 UTC [1] FATAL:  could not write "x": No space left on device',
      '2026-01-01 UTC [1] LOG:  database system is shut down',
    ],
    expected: 'could not write "x": No space left on device',
  },
  {
    title: 'the error of a tool, not its advice',
    lines: ['initdb: error: could not create directory "/x": Permission denied', 'initdb: hint: run it elsewhere'],
    expected: 'could not create directory "/x": Permission denied',
  },
  { title: 'else the last line', lines: ['one', 'sh: postgres: not found.', ''], expected: 'sh: postgres: not found' },
  { title: 'else that there was none', lines: [''], expected: 'it logged no reason' },
]) {
  test(`selects as the meaningful line ${title}`, () => assert.equal(meaningfulLine(lines.join('\n')), expected))
}
