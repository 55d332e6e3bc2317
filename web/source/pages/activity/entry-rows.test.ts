import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ActivityEntry } from '@millwright/api/activity.ts'
import { daysOf, linksOf, outageOf, rowsOf } from './entry-rows.ts'

function entry(id: string, change: Partial<ActivityEntry> = {}): ActivityEntry {
  return {
    id,
    time: '2026-11-18T12:00:00.000Z',
    principal: null,
    principalName: 'jane',
    action: 'identity.signIn',
    outcome: 'done',
    changes: [],
    ...change,
  }
}

const shapeOf = (entries: ActivityEntry[]) => rowsOf(entries).map(({ others }) => others.length + 1)

test('combines three or more similar entries in succession', () => {
  const made = (id: string) => entry(id, { action: 'authorization.createRole' })
  assert.deepEqual(shapeOf([made('1'), made('2')]), [1, 1])
  assert.deepEqual(shapeOf([entry('1'), entry('2'), entry('3')]), [3])
  assert.deepEqual(shapeOf([made('1'), made('2'), { ...made('3'), outcome: 'denied' }, made('4')]), [1, 1, 1, 1])
  assert.deepEqual(shapeOf([made('1'), made('2'), { ...made('3'), principalName: 'bob' }, made('4')]), [1, 1, 1, 1])
})

test('combines the sign-ins of a person on a day, but not refused ones', () => {
  const others = [entry('2', { action: 'authorization.createRole' }), entry('3', { principalName: 'bob' })]
  assert.deepEqual(shapeOf([entry('1'), ...others, entry('4'), entry('5', { outcome: 'denied' })]), [2, 1, 1, 1])
  assert.deepEqual(shapeOf([entry('1'), entry('2', { time: '2026-11-15T12:00:00.000Z' })]), [1, 1])
})

test('combines only starts of the same task', () => {
  const started = (id: string, task: string) =>
    entry(id, { action: 'monitoring.runMonitoring', object: { kind: 'monitoring', id: task } })
  assert.deepEqual(shapeOf([started('1', 'a'), started('2', 'b'), started('3', 'a')]), [1, 1, 1])
  assert.deepEqual(shapeOf([started('1', 'a'), started('2', 'a'), started('3', 'a')]), [3])
})

test('does not combine changes of different fields or groups', () => {
  const changed = (id: string, field: string) => entry(id, { action: 'updated', changes: [{ field }] })
  assert.deepEqual(shapeOf([changed('1', 'name'), changed('2', 'name'), changed('3', 'name')]), [3])
  assert.deepEqual(shapeOf([changed('1', 'name'), changed('2', 'firmware'), changed('3', 'name')]), [1, 1, 1])
})

test('does not combine different decisions of the inbox', () => {
  const decided = (id: string, action: string) => entry(id, { action: 'inbox.createDecision', detail: { action } })
  assert.deepEqual(shapeOf([decided('1', 'ignore'), decided('2', 'ignore'), decided('3', 'ignore')]), [3])
  assert.deepEqual(shapeOf([decided('1', 'ignore'), decided('2', 'onboard'), decided('3', 'onboard')]), [1, 1, 1])
})

test('combines several requests with the sum of their counts', () => {
  const group = {
    count: 2,
    isCapped: false,
    created: 2,
    updated: 0,
    deleted: 0,
    firstTime: '2026-11-18T12:00:00.000Z',
    names: [],
    fields: [],
  }
  const request = (id: string) => entry(id, { action: 'created', group, cause: { kind: 'request', id } })
  const [row] = rowsOf([request('1'), request('2'), request('3')])
  assert.deepEqual([row?.others.length, row?.entry.group?.count, row?.entry.group?.created], [2, 6, 6])
})

test('combines the start and the end of an assignment', () => {
  const assignment = (id: string, action: string, target: string) =>
    entry(id, {
      action: `hierarchy.${action}`,
      object: { kind: 'assignment', id: target },
      detail: { nodeId: target, assigned: 5 },
    })
  const ended = (target: string) => [
    assignment(`${target}e`, 'finishAssignment', target),
    assignment(`${target}s`, 'assignAssets', target),
  ]
  assert.deepEqual(
    rowsOf([...ended('a'), assignment('bs', 'assignAssets', 'b')]).map((row) => row.entry.id),
    ['ae', 'bs'],
  )
  assert.deepEqual(shapeOf([...ended('a'), ...ended('b'), ...ended('c')]), [3])
})

test('marks the last row if further similar entries can follow', () => {
  const entries = [entry('1'), entry('2'), entry('3')]
  assert.deepEqual(
    [rowsOf(entries, { hasMore: true }), rowsOf(entries)].map((rows) => rows.map(({ isOpen }) => isOpen)),
    [[true], [false]],
  )
})

test('lists the rows of each day', () => {
  const rows = rowsOf([entry('1'), entry('2', { time: '2026-11-16T12:00:00.000Z' })])
  assert.deepEqual(
    daysOf(rows).map(({ day, rows: ofDay }) => [day, ofDay.length]),
    [
      ['2026-11-18', 1],
      ['2026-11-16', 1],
    ],
  )
})

test('combines the change of a scan with its start within one second by the same author', () => {
  const scan = (operation: string, second: string, change: Partial<ActivityEntry> = {}) =>
    entry(operation + second, {
      action: `discovery.${operation}`,
      object: { kind: 'discovery', id: '7' },
      time: `2026-11-18T12:00:${second}Z`,
      ...change,
    })
  const start = scan('runDiscovery', '01.000', { detail: { runId: 'r' } })
  const change = (second: string, more: Partial<ActivityEntry> = {}) =>
    scan('updateDiscovery', second, { detail: { changed: ['range'] }, ...more })
  const [row, ...others] = rowsOf([start, entry('between'), change('00.500')])
  assert.deepEqual([row?.entry.id, row?.entry.detail], [start.id, { runId: 'r', changed: ['range'] }])
  assert.equal(others.length, 1)
  assert.deepEqual(shapeOf([start, change('00.500', { principalName: 'bob' })]), [1, 1])
  assert.deepEqual(shapeOf([start, change('00.500', { object: { kind: 'discovery', id: '8' } })]), [1, 1])
  assert.deepEqual(shapeOf([scan('runDiscovery', '02.000'), change('00.500')]), [1, 1])
})

test('combines the links of one gateway that stop to respond or respond again within a minute', () => {
  for (const action of ['discovery.expireLink', 'discovery.recoverLink']) {
    const outage = (id: string, link: string, { gateway = 'g', time = '2026-11-18T12:00:00.000Z' } = {}) =>
      entry(id, { action, object: { kind: 'gateway', id: gateway }, detail: { links: [{ link }] }, time })
    const countsOf = (entries: ActivityEntry[]) => rowsOf(entries).map(({ entry: row }) => linksOf(row).length)
    assert.deepEqual(countsOf([outage('1', 'snmp'), outage('2', 'opcua')]), [2])
    assert.deepEqual(countsOf([outage('1', 'snmp'), entry('2'), outage('3', 'opcua'), outage('4', 's7')]), [3, 0])
    assert.deepEqual(countsOf([outage('1', 'snmp'), outage('2', 'snmp', { gateway: 'h' })]), [1, 1])
    const earlier = outage('2', 'opcua', { time: '2026-11-18T11:58:00.000Z' })
    assert.deepEqual(countsOf([outage('1', 'snmp'), earlier]), [1, 1])
    const other = { ...outage('2', 'opcua'), action: 'discovery.recordLinks' }
    assert.deepEqual(countsOf([outage('1', 'snmp'), other]), [1, 1])
  }
})

test('a change of the reachability of a gateway is the begin or the end of an outage', () => {
  const changed = (type: string, before: string, after: string) =>
    outageOf(
      entry('1', {
        action: 'updated',
        object: { kind: 'asset', id: 'g', type },
        changes: [{ field: 'reachability_state', before, after }],
      }),
    )
  assert.equal(changed('Gateway', 'reached', 'failed'), 'begin')
  assert.equal(changed('Gateway', 'failed', 'reached'), 'end')
  assert.equal(changed('Gateway', 'unknown', 'reached'), undefined)
  assert.equal(changed('Device', 'reached', 'failed'), undefined)
})

test('the begin and the end of an outage are separate entries', () => {
  const gateway = { kind: 'gateway', id: 'g' }
  const end = entry('2', { action: 'discovery.recoverLink', object: gateway, detail: { links: [{ link: 'snmp' }] } })
  const begin = entry('1', { action: 'discovery.expireLink', object: gateway, detail: { links: [{ link: 'snmp' }] } })
  assert.deepEqual(
    rowsOf([end, begin, entry('0')]).map((row) => outageOf(row.entry)),
    ['end', 'begin', undefined],
  )
})
