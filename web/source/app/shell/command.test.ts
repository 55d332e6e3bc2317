import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matchingCommands } from './command.ts'

const commands = [
  { label: 'Discovery', hint: 'Find devices: gateways, links, scans' },
  { label: 'Access', hint: 'Users, programs, roles' },
  { label: 'Add a gateway', hint: 'Discovery' },
  { label: 'Roles', hint: 'Access' },
]

const labelsFor = (typed: string) => matchingCommands(commands, typed).map(({ label }) => label)

test('ranks commands whose label starts with the search text above other commands', () => {
  assert.deepEqual(labelsFor('ro'), ['Roles', 'Access'])
  assert.deepEqual(labelsFor('gateway'), ['Add a gateway', 'Discovery'])
})

test('finds commands that match every search word, and all commands for an empty search', () => {
  assert.deepEqual(labelsFor('access ROLES'), ['Access', 'Roles'])
  assert.deepEqual(labelsFor('roles gateway'), [])
  assert.equal(labelsFor(' ').length, commands.length)
})
