import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Assignment } from '@millwright/api/hierarchy.ts'
import { Output } from '../output/output.ts'
import type { Session } from '../session/session.ts'
import { testTerminal } from '../testing.ts'
import { countsText, printEnd } from './assignment-progress.ts'

const none = { assigned: 0, moved: 0, unchanged: 0, removed: 0, failed: 0 }

function ended(values: Partial<Assignment>): Assignment {
  return { id: 'id', kind: 'filter', state: 'finished', total: 3, ...none, ...values } as Assignment
}

function testSession() {
  const { terminal, printed } = testTerminal({})
  return { session: { terminal, output: new Output(terminal, 'text') } as Session, printed }
}

test('countsText lists only outcomes that occurred', () => {
  assert.equal(countsText({ ...none, assigned: 2, failed: 1 }), '2 assigned, 1 failed')
  assert.equal(countsText(none), 'No asset changed')
})

test('printEnd throws for a canceled or failed assignment, and for failed assets, after it has printed the counts', async () => {
  for (const [values, message] of [
    [{ state: 'canceled' }, 'The assignment was canceled.'],
    [
      { state: 'failed', problem: { code: 'node_not_found', detail: 'The node was deleted' } },
      'The assignment failed: The node was deleted.',
    ],
    [{ failed: 1 }, '1 of 3 failed.'],
  ] satisfies [Partial<Assignment>, string][]) {
    const { session, printed } = testSession()
    await assert.rejects(printEnd(session, ended({ assigned: 1, ...values })), { message, exitCode: 1 })
    assert.match(printed.out, /^1 assigned/)
  }
})

test('printEnd names the command that undoes an assignment, unless nothing changed', async () => {
  const noted = async (values: Partial<Assignment>) => {
    const { session, printed } = testSession()
    await printEnd(session, ended(values))
    return printed.err
  }
  assert.equal(await noted({ moved: 1 }), 'To undo: millwright hierarchy assignment undo id\n')
  assert.equal(await noted({ unchanged: 1 }), '')
  assert.equal(await noted({ kind: 'undo', moved: 1 }), '')
})
