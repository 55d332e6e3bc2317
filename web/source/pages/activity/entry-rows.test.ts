import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ActivityEntry } from '@millwright/api/activity.ts'
import { daysOf, linksOf, outageOf, outageStart, rowsOf } from './entry-rows.ts'

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

const gateway = { kind: 'asset', id: 'g', type: 'Gateway' }
const since = '2026-11-18T11:51:00.000Z'

function reachability(id: string, [before, after]: [string, string], change: Partial<ActivityEntry> = {}) {
  const changes = [{ field: 'reachability_state', before, after, since }]
  return entry(id, { action: 'updated', object: gateway, changes, ...change })
}

const lost = (id: string, change?: Partial<ActivityEntry>) => reachability(id, ['reached', 'failed'], change)
const found = (id: string, change?: Partial<ActivityEntry>) => reachability(id, ['failed', 'reached'], change)
const links = (id: string, operation: string, ...names: string[]) =>
  entry(id, {
    action: `discovery.${operation}`,
    object: { kind: 'gateway', id: 'g' },
    detail: { links: names.map((link) => ({ link })) },
  })
/** Returns the ids of the rows, with the id of the begin of an outage that has ended. */
const idsOf = (entries: ActivityEntry[]) =>
  rowsOf(entries).map((row) => (row.begin === undefined ? row.entry.id : `${row.entry.id}<${row.begin.id}`))

test('combines the end of an outage with its begin, also if other entries are between them', () => {
  assert.deepEqual(idsOf([found('2'), lost('1'), entry('0')]), ['2<1', '0'])
  assert.deepEqual(idsOf([found('3'), entry('2', { object: { kind: 'asset', id: 'a' } }), lost('1')]), ['3<1', '2'])
  assert.deepEqual(idsOf([found('4'), lost('3'), found('2'), lost('1')]), ['4<3', '2<1'])
})

test('does not combine an outage with another entry of the gateway between its begin and its end', () => {
  const renamed = entry('2', { action: 'updated', object: gateway, changes: [{ field: 'name' }] })
  assert.deepEqual(idsOf([found('3'), renamed, lost('1')]), ['3', '2', '1'])
  assert.deepEqual(idsOf([found('3'), found('2'), lost('1')]), ['3', '2<1'])
  assert.deepEqual(idsOf([found('2'), lost('1', { object: { ...gateway, id: 'h' } })]), ['2', '1'])
  assert.deepEqual(idsOf([lost('2'), found('1')]), ['2', '1'])
})

test('combines an outage whose begin is on the next page when the page is loaded', () => {
  const first = [entry('4', { action: 'authorization.createRole' }), found('3')]
  const second = [lost('2'), entry('1')]
  assert.deepEqual(idsOf(first), ['4', '3'])
  assert.deepEqual(idsOf([...first, ...second]), ['4', '3<2', '1'])
})

test('combines the outage of the same links, apart from the outage of their gateway', () => {
  const [begin, end] = [links('1', 'expireLink', 'snmp', 's7'), links('4', 'recoverLink', 's7', 'snmp')]
  assert.deepEqual(idsOf([end, found('3'), lost('2'), begin]), ['4<1', '3<2'])
  assert.deepEqual(idsOf([links('2', 'recoverLink', 'snmp'), begin]), ['2', '1'])
})

test('outages that have ended are separate rows', () => {
  const other = { object: { ...gateway, id: 'h' } }
  const third = { object: { ...gateway, id: 'i' } }
  assert.deepEqual(
    idsOf([found('6'), found('5', other), found('4', third), lost('3'), lost('2', other), lost('1', third)]),
    ['6<3', '5<2', '4<1'],
  )
})

test('an outage starts with the last contact, or with the entry of its begin', () => {
  const [row] = rowsOf([found('2'), lost('1')])
  assert.equal(row && outageStart(row), since)
  const [unknown] = rowsOf([links('2', 'recoverLink', 'snmp'), links('1', 'expireLink', 'snmp')])
  assert.equal(unknown && outageStart(unknown), '2026-11-18T12:00:00.000Z')
  const [alone] = rowsOf([links('2', 'recoverLink', 'snmp')])
  assert.equal(alone && outageStart(alone), undefined)
})

test('marks the sign-ins of the last loaded day, because more of them can follow', () => {
  const role = entry('3', { action: 'authorization.createRole' })
  const isOpen = (entries: ActivityEntry[]) => rowsOf(entries, { hasMore: true })[0]?.isOpen
  assert.equal(isOpen([entry('1'), entry('2'), role]), true)
  assert.equal(isOpen([entry('1'), entry('2'), { ...role, time: '2026-11-16T12:00:00.000Z' }]), false)
})
