import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ActivityEntry } from '@millwright/api/activity.ts'
import { backgroundActions } from '@millwright/api/activity-kinds.ts'
import { contracts } from '@millwright/api/contracts.ts'
import type { Language } from '../../app/language/language.ts'
import { isSpecialAction } from './audit-sentence.ts'
import { hasWords } from './audit-words.ts'
import { activityMessages } from './messages.ts'
import { combinedDetail, combinedSentence, groupDetail, rowSentence, sentenceOf, statesNumber } from './sentence.ts'
import { type SentenceContext, sentenceText } from './sentence-part.ts'

function contextOf(language: Language): SentenceContext {
  return { text: activityMessages[language], language, number: String, duration: (ms) => `${ms / 60_000} min` }
}

const plc: ActivityEntry = {
  id: 'asset.1.2',
  time: '2026-11-18T08:00:00.000Z',
  principal: null,
  principalName: 'jane',
  action: 'updated',
  outcome: 'done',
  object: { kind: 'asset', id: '1', name: 'PLC01' },
  changes: [],
}

function entry(change: Partial<ActivityEntry>): ActivityEntry {
  return { ...plc, ...change }
}

const group = {
  count: 5,
  isCapped: false,
  created: 0,
  updated: 5,
  deleted: 0,
  firstTime: plc.time,
  names: ['PLC01', 'PLC02', null],
  fields: [],
}

const cases: [Partial<ActivityEntry>, en: string, de: string][] = [
  [
    { changes: [{ field: 'firmware', before: '3.0.1', after: '3.1.0' }] },
    'jane changed the firmware of PLC01: 3.0.1 → 3.1.0',
    'jane hat die Firmware von PLC01 geändert: 3.0.1 → 3.1.0',
  ],
  [
    { changes: [{ field: 'firmware', after: '3.1.0' }] },
    'jane changed the firmware of PLC01: unknown → 3.1.0',
    'jane hat die Firmware von PLC01 geändert: unbekannt → 3.1.0',
  ],
  [
    { changes: [{ field: 'software_components', before: 'Viewer 3', after: 'Viewer 4' }] },
    'jane changed the software of PLC01: Viewer 3 → Viewer 4',
    'jane hat die Software von PLC01 geändert: Viewer 3 → Viewer 4',
  ],
  [
    { changes: [{ field: 'name', before: 'A', after: 'PLC01' }] },
    'jane renamed A to PLC01',
    'jane hat A in PLC01 umbenannt',
  ],
  [
    {
      action: 'discovery.expireLink',
      object: { kind: 'gateway', id: 'g', name: 'Hall 3' },
      detail: { links: [{ link: 'millwright.links.snmp' }] },
    },
    'The link SNMP of the gateway Hall 3 no longer responds',
    'Der Link SNMP des Gateways Hall 3 antwortet nicht mehr',
  ],
  [
    {
      action: 'discovery.recoverLink',
      object: { kind: 'gateway', id: 'g', name: 'Hall 3' },
      detail: { links: [{ link: 'millwright.links.snmp' }, { link: 'millwright.links.plant' }] },
    },
    'The links SNMP and Simulated plant of the gateway Hall 3 respond again',
    'Die Links SNMP und Simulated plant des Gateways Hall 3 antworten wieder',
  ],
  [
    {
      action: 'discovery.createDiscovery',
      object: { kind: 'discovery', id: '7' },
      detail: { gatewayId: 'g', assetLinkId: 'millwright.links.plant' },
      names: { g: 'Hall 3' },
    },
    'jane started a scan with Simulated plant on Hall 3',
    'jane hat auf Hall 3 einen Suchlauf mit Simulated plant gestartet',
  ],
  [
    {
      action: 'discovery.runDiscovery',
      object: { kind: 'discovery', id: '7' },
      detail: { runId: 'r', assetLinkId: 'millwright.links.plant', scope: ['10.0.0.0/24'] },
    },
    'jane started the scan Simulated plant: 10.0.0.0/24',
    'jane hat den Suchlauf Simulated plant: 10.0.0.0/24 gestartet',
  ],
  [
    {
      action: 'discovery.runDiscovery',
      object: { kind: 'discovery', id: '7' },
      detail: { runId: 'r', assetLinkId: 'millwright.links.plant', scope: [], changed: ['range'] },
    },
    'jane started the scan Simulated plant: all devices and changed its range',
    'jane hat den Suchlauf Simulated plant: alle Geräte geändert und gestartet: Bereich',
  ],
  [
    {
      action: 'discovery.updateDiscovery',
      object: { kind: 'discovery', id: '7' },
      detail: { assetLinkId: 'millwright.links.plant', scope: [], changed: ['schedule', 'settings'] },
    },
    'jane changed the schedule and settings of the scan Simulated plant: all devices',
    'jane hat den Suchlauf Simulated plant: alle Geräte geändert: Zeitplan und Einstellungen',
  ],
  [
    { action: 'inventory.createImpactReport', object: { kind: 'impact-report', id: '7', name: 'SW01' } },
    'jane created the impact report SW01',
    'jane hat den Auswirkungsbericht SW01 angelegt',
  ],
  [
    { changes: [{ field: 'management_state', before: 'unknown', after: 'regarded' }] },
    'jane onboarded PLC01',
    'jane hat PLC01 aufgenommen',
  ],
  [
    { changes: [{ field: 'reachability_state', before: 'reached', after: 'failed' }] },
    'PLC01 is no longer reachable',
    'PLC01 ist nicht mehr erreichbar',
  ],
  [
    { changes: [{ field: 'custom_properties/Room', after: '12' }] },
    'jane set the property Room of PLC01 to 12',
    'jane hat die Eigenschaft Room von PLC01 auf 12 gesetzt',
  ],
  [
    {
      changes: [
        { field: 'firmware', before: '1', after: '2' },
        { field: 'serial_number', after: 'S1' },
        { field: 'location' },
        { field: 'description', before: 'x' },
      ],
    },
    'jane changed 4 fields of PLC01: firmware 1 → 2, serial number – → S1, location and 1 more',
    'jane hat 4 Felder von PLC01 geändert: Firmware 1 → 2, Seriennummer – → S1, Standort und 1 weiteres',
  ],
  [{ action: 'created', source: { type: 'discovery' } }, 'jane found PLC01', 'jane hat PLC01 gefunden'],
  [{ action: 'created', source: { type: 'manual' } }, 'jane added PLC01', 'jane hat PLC01 angelegt'],
  [{ action: 'deleted' }, 'jane deleted PLC01', 'jane hat PLC01 gelöscht'],
  [
    {
      group: { ...group, created: 3, updated: 2 },
      cause: { kind: 'scan', id: '1' },
      source: { type: 'discovery', value: 'millwright.links.snmp' },
    },
    'jane ran a scan with SNMP. Assets: 3 added, 2 changed',
    'jane hat einen Suchlauf mit SNMP ausgeführt. Assets: 3 hinzugefügt, 2 geändert',
  ],
  [
    { group: { ...group, created: 5, updated: 0 }, cause: { kind: 'import', id: '1', name: 'plant.xlsx' } },
    'jane imported plant.xlsx. Assets: 5 added',
    'jane hat plant.xlsx importiert. Assets: 5 hinzugefügt',
  ],
  [
    {
      group: { ...group, fields: [{ field: 'reachability_state', after: 'failed', count: 5 }] },
      cause: { kind: 'check', id: '1' },
    },
    'Monitoring lost contact with 5 assets',
    'Die Überwachung hat den Kontakt zu 5 Assets verloren',
  ],
  [
    {
      group: { ...group, fields: [{ field: 'responsible', after: 'bob', count: 5 }] },
      cause: { kind: 'bulk_edit', id: '1' },
    },
    'jane set the responsible person of 5 assets to bob',
    'jane hat den Verantwortlichen von 5 Assets auf bob gesetzt',
  ],
  [
    { group, cause: { kind: 'rule', id: '1', name: 'Hall 3' } },
    'The onboarding rule Hall 3 onboarded assets: 5 changed',
    'Die Aufnahmeregel Hall 3 hat Assets aufgenommen: 5 geändert',
  ],
  [
    { group, cause: { kind: 'request', id: '1' } },
    'jane changed 5 assets through the API',
    'jane hat 5 Assets über die API geändert',
  ],
  [
    { group: { ...group, updated: 0, deleted: 5 }, cause: { kind: 'bulk_edit', id: '1' } },
    'jane deleted 5 assets',
    'jane hat 5 Assets gelöscht',
  ],
  [{ action: 'identity.signIn' }, 'jane signed in', 'jane hat sich angemeldet'],
  [{ action: 'identity.signIn', outcome: 'denied' }, 'jane could not sign in', 'jane konnte sich nicht anmelden'],
  [
    {
      action: 'authorization.createGrant',
      detail: { role: 'operator', principal: 'p', accessGroup: 'g' },
      names: { p: 'bob', g: 'Hall 3' },
    },
    'jane assigned the role operator to bob in the access group Hall 3',
    'jane hat bob die Rolle operator in der Zugriffsgruppe Hall 3 zugewiesen',
  ],
  [
    { action: 'authorization.createAccessGroup', object: { kind: 'access-group', id: '1', name: 'Hall 3' } },
    'jane created the access group Hall 3',
    'jane hat die Zugriffsgruppe Hall 3 angelegt',
  ],
  [
    {
      action: 'hierarchy.assignAssets',
      object: { kind: 'assignment', id: '1' },
      detail: { nodeId: 'n', assigned: 98, moved: 2 },
      names: { n: 'Line 1' },
    },
    'jane assigned 100 assets to Line 1',
    'jane hat 100 Assets dem Knoten Line 1 zugewiesen',
  ],
  [
    { action: 'hierarchy.assignAssets', object: { kind: 'assignment', id: '1' }, detail: { nodeId: 'n', assigned: 0 } },
    'jane assigned assets to a hierarchy node',
    'jane hat Assets dem Knoten einer Hierarchie zugewiesen',
  ],
  [
    {
      action: 'hierarchy.finishAssignment',
      principalKind: 'server_user',
      object: { kind: 'assignment', id: '1', name: 'Line 6' },
      detail: { kind: 'filter', nodeId: 'n', assigned: 161, moved: 0 },
      names: { n: 'Line 6' },
    },
    'jane (service account) assigned 161 assets to Line 6',
    'jane (Dienstkonto) hat 161 Assets dem Knoten Line 6 zugewiesen',
  ],
  [
    { action: 'hierarchy.finishAssignment', detail: { kind: 'undo', nodeId: null, assigned: 1, moved: 1, removed: 3 } },
    'jane undid the assignment of 5 assets',
    'jane hat die Zuweisung von 5 Assets rückgängig gemacht',
  ],
  [
    { action: 'hierarchy.assignAssets', detail: { kind: 'ids', nodeId: null, removed: 1 } },
    'jane removed 1 asset from a hierarchy',
    'jane hat 1 Asset aus einer Hierarchie entfernt',
  ],
  [
    { action: 'hierarchy.assignAssets', detail: { kind: 'rules', nodeId: null, assigned: 4, moved: 1 } },
    'jane assigned 5 assets with assignment rules',
    'jane hat 5 Assets mit Zuweisungsregeln zugewiesen',
  ],
  [
    {
      action: 'inbox.createDecision',
      object: { kind: 'decision', id: '1' },
      detail: { action: 'onboard', assets: 3 },
    },
    'jane decided in the inbox to onboard 3 assets',
    'jane hat im Eingang entschieden, 3 Assets aufzunehmen',
  ],
  [
    { action: 'inbox.undoDecision', object: { kind: 'decision', id: '2' }, detail: { action: 'undo', assets: 1 } },
    'jane undid a decision in the inbox about 1 asset',
    'jane hat im Eingang eine Entscheidung über 1 Asset rückgängig gemacht',
  ],
  [
    {
      action: 'inventory.createRelation',
      object: { kind: 'relation', id: '1' },
      detail: { subject: { type: 'asset', id: 'a' }, object: { type: 'asset', id: 'b' } },
      names: { a: 'PLC01', b: 'Switch 2' },
    },
    'jane created a relation from PLC01 to Switch 2',
    'jane hat eine Beziehung von PLC01 zu Switch 2 angelegt',
  ],
  [
    { action: 'events.replayWebhook', object: { kind: 'webhook', id: '1', name: 'CMMS' } },
    'jane replayed the events of the webhook CMMS',
    'jane hat den Webhook CMMS Ereignisse erneut senden lassen',
  ],
  [
    { action: 'onboarding.deleteGateway', outcome: 'denied', object: { kind: 'gateway', id: '1', name: 'gw-1' } },
    'jane was not allowed to delete the gateway gw-1',
    'jane durfte das Gateway gw-1 nicht löschen',
  ],
  [
    {
      action: 'onboarding.enrol',
      principalName: 'gateway g-1',
      object: { kind: 'gateway', id: 'g-1', name: 'Hall 3' },
    },
    'Gateway Hall 3 connected for the first time',
    'Gateway Hall 3 hat sich zum ersten Mal verbunden',
  ],
]

for (const [change, en, de] of cases) {
  test(`shows the sentence: ${en}`, () => {
    const shown = (language: Language) => sentenceText(sentenceOf(entry(change), contextOf(language)))
    assert.deepEqual([shown('en'), shown('de')], [en, de])
  })
}

test('shows the first names of a group and the fields that changed', () => {
  const fields = [{ field: 'firmware', count: 4 }]
  assert.equal(
    sentenceText(groupDetail(entry({ group: { ...group, fields } }), contextOf('en'))),
    'PLC01, PLC02, Unnamed asset and 2 more · changed fields: firmware',
  )
})

test('shows several assignments with the sum of their assets', () => {
  const assignment = (node: string, assigned: number) =>
    entry({
      action: 'hierarchy.finishAssignment',
      detail: { nodeId: node, assigned, moved: 1 },
      names: { [node]: node },
    })
  const entries = [assignment('Line 1', 160), assignment('Line 2', 80), assignment('Line 3', 1)]
  const shown = (language: Language) => sentenceText(combinedSentence(entries, contextOf(language)))
  assert.equal(shown('en'), 'jane assigned 244 assets to 3 hierarchy nodes')
  assert.equal(shown('de'), 'jane hat 244 Assets 3 Hierarchieknoten zugewiesen')
  const detail = combinedDetail(entries, contextOf('en'))
  assert.equal(detail[0]?.subject, 'node/Line 1')
  assert.equal(sentenceText(detail), 'Line 1, Line 2, Line 3')
})

test('shows several decisions of the same kind with the sum of their assets', () => {
  const decision = (id: string, assets: number) =>
    entry({ action: 'inbox.createDecision', object: { kind: 'decision', id }, detail: { action: 'onboard', assets } })
  const entries = [decision('1', 1), decision('2', 3), decision('3', 40)]
  const shown = (language: Language) => sentenceText(combinedSentence(entries, contextOf(language)))
  assert.equal(shown('en'), 'jane decided in the inbox to onboard 44 assets')
  assert.equal(shown('de'), 'jane hat im Eingang entschieden, 44 Assets aufzunehmen')
})

function firmwareOf(name: string, before: string | undefined, after: string): ActivityEntry {
  const change = { field: 'firmware', after, ...(before !== undefined && { before }) }
  return entry({ object: { kind: 'asset', id: name, name }, changes: [change] })
}

test('shows the first and the last version of several changes of one asset', () => {
  const entries = [firmwareOf('PLC01', '2', '3'), firmwareOf('PLC01', '1', '2'), firmwareOf('PLC01', '0', '1')]
  assert.equal(sentenceText(combinedSentence(entries, contextOf('en'))), 'jane changed the firmware of PLC01: 0 → 3')
  assert.deepEqual(combinedDetail(entries, contextOf('en')), [])
})

test('shows the old and new versions of several assets', () => {
  const entries = [
    firmwareOf('PLC01', '2', '3'),
    firmwareOf('PLC02', undefined, '5'),
    firmwareOf('PLC01', '1', '2'),
    firmwareOf('PLC03', '1', '2'),
    firmwareOf('PLC04', '1', '2'),
  ]
  const shown = (language: Language) => sentenceText(combinedSentence(entries, contextOf(language)))
  assert.equal(shown('en'), 'jane changed the firmware of 4 assets')
  assert.equal(shown('de'), 'jane hat die Firmware von 4 Assets geändert')
  const detail = combinedDetail(entries, contextOf('en'))
  assert.equal(sentenceText(detail), 'PLC01 1 → 3, PLC02 unknown → 5, PLC03 1 → 2 and 1 more')
  assert.deepEqual(detail.at(-1), { text: 'and 1 more', role: 'more' })
})

test('shows the first names of similar audit entries', () => {
  const relation = (from: string, to: string) =>
    entry({
      action: 'inventory.createRelation',
      detail: { subject: { type: 'asset', id: 'a' }, object: { type: 'asset', id: 'b' } },
      names: { a: from, b: to },
    })
  const entries = ['1', '2', '3', '4'].map((number) => relation(`PLC0${number}`, 'Switch'))
  assert.equal(
    sentenceText(combinedDetail(entries, contextOf('en'))),
    'PLC01 → Switch, PLC02 → Switch, PLC03 → Switch and 1 more',
  )
  assert.deepEqual(combinedDetail(entries.slice(0, 1), contextOf('en')), [])
})

test('the number of entries is not repeated after a sentence that contains it', () => {
  const renamed = (id: string) => entry({ object: { kind: 'asset', id }, changes: [{ field: 'name', after: id }] })
  assert.equal(statesNumber([firmwareOf('PLC01', '1', '2'), firmwareOf('PLC02', '1', '2')]), true)
  assert.equal(statesNumber([renamed('1'), renamed('2')]), false)
})

test('every action that the activity shows has words in both languages', () => {
  const actions = Object.entries(contracts).flatMap(([name, { operations }]) =>
    Object.entries(operations)
      .filter(([, { method, readOnly, access }]) => method !== 'GET' && readOnly !== true && !isInternal(access))
      .map(([operation]) => `${name}.${operation}`),
  )
  assert.ok(actions.length > 150)
  const shown = actions.filter((action) => !backgroundActions.includes(action) && !isSpecialAction(action))
  assert.deepEqual(
    shown.filter((action) => !hasWords(action.split('.')[1] ?? '')),
    [],
  )
})

/** Returns whether only services and gateways use an operation. Its audit entries are background traffic. */
function isInternal(access: string): boolean {
  return ['peer', 'on-behalf', 'glb_gateway_work'].includes(access)
}

test('states how long a gateway or its links did not respond', () => {
  const start = '2026-11-18T07:51:00.000Z'
  const sentencesOf = (change: Partial<ActivityEntry>) =>
    (['en', 'de'] as const).map((language) =>
      sentenceText(rowSentence({ entry: entry(change), others: [], start }, contextOf(language))),
    )
  assert.deepEqual(sentencesOf({ changes: [{ field: 'reachability_state', before: 'failed', after: 'reached' }] }), [
    'PLC01 was unreachable for 9 min',
    'PLC01 war 9 min nicht erreichbar',
  ])
  const object = { kind: 'gateway', id: 'g', name: 'Hall 3' }
  const recovered = (...links: string[]) => ({
    action: 'discovery.recoverLink',
    object,
    detail: { links: links.map((name) => ({ link: `millwright.links.${name}` })) },
  })
  assert.deepEqual(sentencesOf(recovered('snmp')), [
    'The link SNMP of the gateway Hall 3 did not respond for 9 min',
    'Der Link SNMP des Gateways Hall 3 hat 9 min nicht geantwortet',
  ])
  assert.deepEqual(sentencesOf(recovered('snmp', 'plant')), [
    'The links SNMP and Simulated plant of the gateway Hall 3 did not respond for 9 min',
    'Die Links SNMP und Simulated plant des Gateways Hall 3 haben 9 min nicht geantwortet',
  ])
})
