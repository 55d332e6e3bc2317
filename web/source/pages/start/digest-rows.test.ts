import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ActivityEntry } from '@millwright/api/activity.ts'
import type { EntryRow } from '../activity/entry-rows.ts'
import { digestRows } from './digest-rows.ts'

function row(id: string, change: Partial<ActivityEntry> = {}): EntryRow {
  const time = '2026-11-18T12:00:00.000Z'
  const plain = { id, time, principal: null, principalName: 'jane', action: 'created', changes: [] }
  return { entry: { ...plain, outcome: 'done', ...change }, others: [], isOpen: false }
}

const gateway = { kind: 'gateway', id: 'g' }
const detailOf = (links: string[]) => ({ links: links.map((link) => ({ link })) })
const begin = (id: string, ...links: string[]) =>
  row(id, { action: 'discovery.expireLink', object: gateway, detail: detailOf(links) })
const end = (id: string, ...links: string[]) =>
  row(id, { action: 'discovery.recoverLink', object: gateway, detail: detailOf(links) })

const idsOf = (rows: EntryRow[]) => digestRows(rows).map(({ entry }) => entry.id)

test('shows the newest rows', () => {
  assert.deepEqual(idsOf(['9', '8', '7', '6', '5', '4', '3'].map((id) => row(id))), ['9', '8', '7', '6', '5', '4'])
})

test('shows the two newest outages even if many entries are newer, in the order of time', () => {
  const newer = ['9', '8', '7', '6', '5'].map((id) => row(id))
  const outages = [begin('3', 'snmp'), begin('2', 's7'), begin('1', 'opcua')]
  assert.deepEqual(idsOf([...newer, row('4'), ...outages]), ['9', '8', '7', '6', '3', '2'])
})

test('shows only the end of an outage that has ended for all its links', () => {
  assert.deepEqual(idsOf([end('2', 'snmp', 's7'), begin('1', 'snmp', 's7')]), ['2'])
  assert.deepEqual(idsOf([end('2', 'snmp'), begin('1', 'snmp', 's7')]), ['2', '1'])
  assert.deepEqual(idsOf([begin('3', 'snmp'), end('2', 'snmp'), begin('1', 'snmp')]), ['3', '2'])
})

test('knows since when the links of an outage that has ended did not respond', () => {
  const links = [{ link: 'snmp', silentSince: '2026-11-18T11:50:00.000Z' }, { link: 's7' }]
  const [shown] = digestRows([row('1', { action: 'discovery.recoverLink', object: gateway, detail: { links } })])
  assert.equal(shown?.since, '2026-11-18T11:50:00.000Z')
})

test('knows since when a gateway did not respond, which is earlier than the platform noticed it', () => {
  const object = { ...gateway, kind: 'asset', type: 'Gateway' }
  const since = '2026-11-18T03:00:00.000Z'
  const began = row('1', { object, changes: [{ field: 'reachability_state', after: 'failed', since }] })
  const changes = [{ field: 'reachability_state', before: 'failed', after: 'reached', since }]
  assert.deepEqual(
    digestRows([row('2', { object, changes }), began]).map((shown) => [shown.entry.id, shown.since]),
    [['2', since]],
  )
  assert.equal(digestRows([began])[0]?.since, since)
})

test('shows only the end of an outage of a gateway that is reachable again', () => {
  const object = { ...gateway, kind: 'asset', type: 'Gateway' }
  const changed = (id: string, before: string, after: string, time = '2026-11-18T12:00:00.000Z') =>
    row(id, { action: 'updated', object, time, changes: [{ field: 'reachability_state', before, after }] })
  assert.deepEqual(idsOf([changed('2', 'failed', 'reached'), changed('1', 'reached', 'failed')]), ['2'])
  const began = '2026-11-18T11:58:00.000Z'
  const [shown] = digestRows([changed('2', 'failed', 'reached'), changed('1', 'reached', 'failed', began)])
  assert.equal(shown?.since, undefined, 'the last contact is not known')
  assert.deepEqual(idsOf([changed('1', 'reached', 'failed')]), ['1'])
})
