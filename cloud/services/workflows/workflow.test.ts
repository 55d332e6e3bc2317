import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '@millwright/api/problem.ts'
import type { Workflow } from '@millwright/api/workflows.ts'
import fc from 'fast-check'
import { builtInWorkflows } from './built-in.ts'
import { directUpdate, machine } from './testing.ts'
import { completed, groupOf, initialState, isFinal, requireSound } from './workflow.ts'

const unsound: [string, Workflow, RegExp][] = [
  ['two states where jobs begin', machine('a > c', 'b > c'), /one state is the initial one, not 2: a, b/],
  ['a cycle', machine('a > b', 'b > c', 'c > b'), /there is a cycle: b → c → b/],
  ['a cycle and no beginning', machine('a > b', 'b > a'), /there is a cycle: a → b → a/],
  ['two ways at once out of one state', machine('a => b', 'a => c'), /from a more than one transition is IMMEDIATE/],
  ['a way at once to itself', machine('a > b', 'b => b'), /the IMMEDIATE transition of b leads to itself/],
  ['the same transition twice', machine('a > b', 'a > b'), /the transition a → b for CLIENT is there twice/],
  [
    'a default that says the same',
    { ...machine('a ~> b'), transitions: [...machine('a ~> b').transitions, { from: 'a', to: 'b', eligible: 'WFX' }] },
    /the transition a → b for WFX is there twice/,
  ],
  [
    'a state twice',
    { ...machine('a > b'), states: [{ name: 'a' }, { name: 'b' }, { name: 'a' }] },
    /the state a is there twice/,
  ],
  [
    'a transition to nowhere',
    { ...machine('a > b'), states: [{ name: 'a' }] },
    /a transition names b, which is no state/,
  ],
  [
    'a group of unknown states',
    { ...machine('a > b'), groups: [{ name: 'G', states: ['x'] }] },
    /the group G names x, which is no state/,
  ],
  [
    'a group twice',
    {
      ...machine('a > b'),
      groups: [
        { name: 'G', states: ['a'] },
        { name: 'G', states: ['b'] },
      ],
    },
    /the group G is there twice/,
  ],
  [
    'a state in two groups',
    {
      ...machine('a > b'),
      groups: [
        { name: 'G', states: ['a', 'b'] },
        { name: 'H', states: ['b'] },
      ],
    },
    /the state b is in two groups/,
  ],
]

for (const [what, workflow, expected] of unsound) {
  test(`a workflow with ${what} is refused, and the answer says so`, () => {
    assert.throws(
      () => requireSound(workflow),
      (problem) => problem instanceof Problem && problem.code === 'invalid_workflow' && expected.test(problem.message),
    )
  })
}

test('all that is wrong is told at once, each with its place', () => {
  const workflow = { ...machine('a > b', 'a > b', 'a => b', 'a => c'), name: 'x' }
  assert.throws(
    () => requireSound(workflow),
    (problem) => (problem as Problem).errors?.map(({ pointer }) => pointer).join() === '/transitions/1,/transitions',
  )
})

test('sound are one state alone, reports of progress, both sides on one way, and what comes with the product', () => {
  for (const workflow of [
    { name: 'one', states: [{ name: 'a' }], transitions: [] },
    machine('a > b', 'b > b', 'b > c', 'b ~> c'),
    directUpdate,
    ...builtInWorkflows.values(),
  ])
    requireSound(workflow)
})

test('the engine waits unless it is told not to, and clients are not told what to do', () => {
  const { transitions } = completed({
    name: 'x',
    states: [{ name: 'a' }, { name: 'b' }],
    transitions: [
      { from: 'a', to: 'b', eligible: 'WFX' },
      { from: 'a', to: 'b', eligible: 'CLIENT' },
    ],
  })
  assert.deepEqual(
    transitions.map(({ action }) => action),
    ['WAIT', undefined],
  )
})

test('a workflow whose states all come later than one before them is sound, begins at the first and has an end', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(), { minLength: 1, maxLength: 12 }),
      fc.array(fc.nat(), { maxLength: 20 }),
      (tree, more) => {
        const lines = tree.map((pick, index) => `s${pick % (index + 1)} > s${index + 1}`)
        const extra = more.map((pick) => {
          const to = 1 + (pick % tree.length)
          return `s${pick % to} > s${to}`
        })
        const workflow = machine(...new Set([...lines, ...extra]))
        requireSound(workflow)
        assert.equal(initialState(workflow), 's0')
        assert.ok(workflow.states.some(({ name }) => isFinal(workflow, name)))
        const back = machine(...new Set([...lines, `s${tree.length} > s0`]))
        assert.throws(() => requireSound(back), /cycle/)
      },
    ),
    { numRuns: 60 },
  )
})

test('a state is in the group that names it', () => {
  assert.equal(groupOf(directUpdate, 'ACTIVATED'), 'CLOSED')
  assert.equal(groupOf(machine('a > b'), 'a'), undefined)
})
