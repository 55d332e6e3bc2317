import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EscapeFilter } from './escape.ts'

function filtered(...chunks: string[]): { text: string; actions: string[] } {
  const filter = new EscapeFilter()
  const results = chunks.map((chunk) => filter.filter(Buffer.from(chunk)))
  return {
    text: results.map(({ bytes }) => bytes.toString()).join(''),
    actions: results.flatMap(({ actions }) => actions),
  }
}

test('~. at the start of a line ends the session, also when it is typed key by key', () => {
  assert.deepEqual(filtered('~.rest'), { text: '', actions: ['end'] })
  assert.deepEqual(filtered('ls\r', '~', '.'), { text: 'ls\r', actions: ['end'] })
})

test('a tilde within a line is sent unchanged', () => {
  assert.deepEqual(filtered('cd ~.ssh\r'), { text: 'cd ~.ssh\r', actions: [] })
})

test('~~ sends one tilde, ~? shows the help, and a tilde before another key is sent', () => {
  assert.deepEqual(filtered('~~.\r'), { text: '~.\r', actions: [] })
  assert.deepEqual(filtered('\r~?~.'), { text: '\r', actions: ['help', 'end'] })
  assert.deepEqual(filtered('~/bin/run\r'), { text: '~/bin/run\r', actions: [] })
  assert.deepEqual(filtered('~\r~.'), { text: '~\r', actions: ['end'] })
})
