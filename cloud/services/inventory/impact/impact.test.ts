import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ImpactMode } from '@millwright/api/inventory/impact.ts'
import { createYield } from '../../../platform/event-loop.ts'
import { type ImpactRelation, impactOf } from './impact.ts'
import { csvOf } from './summary.ts'

/** Reads relations that are written as `subject predicate object`. */
function relationsOf(text: string): ImpactRelation[] {
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const [subject = '', predicate = '', object = ''] = line.trim().split(' ')
      return { subject, predicate, object }
    })
}

/** Returns the effects as texts. */
async function effects(relations: string, options: { start: string; mode?: ImpactMode; gateways?: string[] }) {
  const { start, mode = 'fails', gateways = ['gw'] } = options
  const input = { start, mode, relations: relationsOf(relations), gateways: new Set(gateways) }
  return [...(await impactOf(input, () => undefined))]
    .map(([id, { effect, reason, depth }]) => `${id} ${effect} ${reason} ${depth}`)
    .toSorted()
}

/** Returns a chain in which each partner depends on the redundant asset before it, so that each link needs another round. */
function chainOfPartners(length: number): string {
  const links = Array.from({ length }, (_, place) => [
    `a${place} is_module_of s`,
    `a${place} is_redundant_with p${place}`,
    ...(place === 0 ? [] : [`p${place} is_module_of a${place - 1}`]),
  ])
  return links.flat().join('\n')
}

describe('impact of an asset', () => {
  const line = `
    core is_connected_to gw
    sw is_connected_to core
    plc is_connected_to sw
    io is_module_of plc
    app is_installed_on plc`

  test('what depends on an asset is found over all relations, with its depth', async () => {
    assert.deepEqual(await effects(line, { start: 'sw', mode: 'depends' }), [
      'app affected dependency 2',
      'io affected dependency 2',
      'plc affected dependency 1',
    ])
    assert.deepEqual(await effects(line, { start: 'io', mode: 'depends' }), [])
  })

  test('a failed switch cuts off the assets that reach the gateway only through it, and what depends on them', async () => {
    assert.deepEqual(await effects(line, { start: 'sw' }), [
      'app affected dependency 2',
      'io affected dependency 2',
      'plc affected network 1',
    ])
  })

  test('assets with another path to the gateway are degraded', async () => {
    const ring = `${line}
      other is_connected_to core
      plc is_connected_to other`
    assert.deepEqual(await effects(ring, { start: 'sw' }), ['plc degraded network 1'])
    const cables = `
      core is_connected_to gw
      gw is_connected_to core
      a is_connected_to core
      core is_connected_to a
      b is_connected_to a
      a is_connected_to b
      c is_connected_to b
      b is_connected_to c
      c is_connected_to core
      core is_connected_to c`
    assert.deepEqual(await effects(cables, { start: 'a' }), ['b degraded network 1'])
  })

  test('a working partner makes the dependents degraded, and the search ends there', async () => {
    const redundant = `${line}
      sw is_redundant_with sw2
      sw2 is_connected_to core`
    assert.deepEqual(await effects(redundant, { start: 'sw' }), ['plc degraded redundancy 1'])
    assert.deepEqual(await effects(redundant, { start: 'sw', mode: 'depends' }), [
      'app degraded redundancy 2',
      'io degraded redundancy 2',
      'plc degraded redundancy 1',
    ])
  })

  test('a partner that is lost too gives no redundancy', async () => {
    const both = `${line}
      plc is_redundant_with plc2
      plc2 is_connected_to sw`
    assert.deepEqual(await effects(both, { start: 'sw' }), [
      'app affected dependency 2',
      'io affected dependency 2',
      'plc affected network 1',
      'plc2 affected network 1',
    ])
    const apart = `${line}
      plc is_redundant_with plc2
      plc2 is_connected_to core`
    assert.deepEqual(await effects(apart, { start: 'sw' }), ['plc degraded redundancy 1'])
  })

  test('the number of rounds is limited if each partner depends on another redundant asset', async () => {
    const found = await effects(chainOfPartners(60), { start: 's' })
    assert.ok(found.includes('a40 degraded redundancy 1'))
    assert.ok(found.includes('a59 affected dependency 1'))
  })

  test('a round of redundancy examines only the assets that it restores', async () => {
    const network = Array.from(
      { length: 3_000 },
      (_, place) => `d${place} is_module_of ${place < 3 ? 's' : `d${place - 3}`}`,
    )
    const stepsWith = async (links: number) => {
      let steps = 0
      const relations = relationsOf(`${network.join('\n')}\n${chainOfPartners(links)}`)
      await impactOf({ start: 's', mode: 'fails', relations, gateways: new Set() }, () => {
        steps++
        return undefined
      })
      return steps
    }
    const [few, many] = [await stepsWith(1), await stepsWith(45)]
    assert.ok(many < 1.2 * few, `${many} steps with 45 rounds, ${few} steps with one round`)
  })

  test('other work runs while a large impact is computed', async () => {
    const relations = Array.from({ length: 20_000 }, (_, place) => ({
      subject: `d${place}`,
      predicate: 'is_connected_to',
      object: place === 0 ? 's' : `d${Math.floor(place / 3)}`,
    }))
    let turns = 0
    let isDone = false
    const countTurn = () => {
      turns++
      if (!isDone) setImmediate(countTurn)
    }
    setImmediate(countTurn)
    await impactOf({ start: 's', mode: 'fails', relations, gateways: new Set() }, createYield('impact'))
    isDone = true
    assert.ok(turns > 3, `${turns} turns of the event loop`)
  })

  test('without a gateway, the largest part of the network keeps working', async () => {
    const network = `
      a is_connected_to hub
      hub is_connected_to a
      b is_connected_to hub
      hub is_connected_to b
      core is_connected_to hub
      hub is_connected_to core
      x is_connected_to core
      core is_connected_to x`
    assert.deepEqual(await effects(network, { start: 'hub', gateways: [] }), [
      'a affected network 1',
      'b affected network 1',
    ])
  })

  test('an export has no formulas, also not in full-width characters', async () => {
    const effect = { effect: 'affected', reason: 'network', depth: 1 } as const
    const asset = { id: 'a', name: '＝1', class: 'panel', reachability_state: 'unknown', ...effect } as const
    const [, row] = csvOf({ assets: [{ ...asset, nodeIds: [] }], nodes: [] }).split('\r\n')
    assert.equal(row, "a,'＝1,panel,,affected,network,1,unknown,")
  })

  test('relations about discovery and places are not dependencies', async () => {
    assert.deepEqual(await effects('a found_by_gateway gw\nb is_watched_by gw', { start: 'gw', mode: 'depends' }), [])
  })

  test('the CSV protects every text that a spreadsheet could run as a formula', async () => {
    const names = ['=1+1', ' =1+1', '\u200b=1+1', '＝1+1', '\n=1+1']
    const asset = { id: 'a', class: 'controller', effect: 'affected', reason: 'dependency', depth: 1 } as const
    const assets = names.map((name) => ({ ...asset, name, reachability_state: 'unknown' as const, nodeIds: [] }))
    const csv = csvOf({ assets, nodes: [] })
    for (const name of names) assert.ok(csv.includes(`'${name}`), JSON.stringify(name))
  })
})
