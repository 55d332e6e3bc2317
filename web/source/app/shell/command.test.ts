import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matchingCommands } from './command.ts'

const commands = [
  { label: 'Discovery', hint: 'Find devices: gateways, links, scans' },
  { label: 'Access', hint: 'Users, programs, roles' },
  { label: 'Add a gateway', hint: 'Discovery' },
  { label: 'Roles', hint: 'Access' },
]

const found = (typed: string) => matchingCommands(commands, typed).map(({ label }) => label)

test('ranks commands whose label starts with the search text above other commands', () => {
  assert.deepEqual(found('ro'), ['Roles', 'Access'])
  assert.deepEqual(found('gateway'), ['Add a gateway', 'Discovery'])
})

test('finds commands that match every search word, and all commands for an empty search', () => {
  assert.deepEqual(found('access ROLES'), ['Access', 'Roles'])
  assert.deepEqual(found('roles gateway'), [])
  assert.equal(found(' ').length, commands.length)
})
