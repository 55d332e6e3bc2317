import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { plantAssets } from './generator.ts'

describe('the assets of a simulated plant', () => {
  test('generates the same first assets for the same seed, even if the plant is larger', () => {
    fc.assert(
      fc.property(fc.nat(0xffff_ffff), fc.integer({ min: 1, max: 400 }), (seed, assets) => {
        const small = [...plantAssets({ assets, seed, relations: 5 })]
        const large = [...plantAssets({ assets: assets + 50, seed, relations: 5 })]
        assert.equal(small.length, assets)
        assert.deepEqual(large.slice(0, assets), small)
      }),
      { numRuns: 10 },
    )
  })

  test('generates the requested number of relations, each to an earlier asset', () => {
    let relations = 0
    for (const asset of plantAssets({ assets: 1_000, seed: 3, relations: 5 })) {
      for (const relation of asset.relations) if ('place' in relation) assert.ok(relation.place < asset.place)
      relations += asset.relations.length
    }
    assert.ok(relations > 4_500, `${relations}`)
  })

  test('connects the lines of an area through the switch of its first line, and no lines of different areas', () => {
    const names: string[] = []
    const between = new Set<string>()
    const lineOf = (name = '') => name.split('-').slice(0, 3).join('-')
    for (const { asset, relations } of plantAssets({ assets: 1_200, seed: 1, relations: 2 })) {
      names.push(String(asset.name))
      for (const relation of relations) {
        if (!('place' in relation)) continue
        const [one, other] = [lineOf(String(asset.name)), lineOf(names[relation.place])]
        if (one !== other) between.add(`${one} ${other}`)
      }
    }
    const areas = new Set([...between].flatMap((pair) => pair.split(' ')).map((line) => line.slice(0, -4)))
    assert.equal(areas.size, 2)
    assert.ok(between.size >= 6, [...between].join())
    for (const pair of between) {
      const [one = '', other = ''] = pair.split(' ')
      assert.deepEqual([one.slice(0, -4), other.slice(-3)], [other.slice(0, -4), 'L01'])
    }
  })

  test('gives each line a subnet with 24 bits, and each address once', () => {
    const lines = new Map<string, Set<string>>()
    const addresses: string[] = []
    for (const { asset } of plantAssets({ assets: 3_000, seed: 1, relations: 2 })) {
      const points = (asset.connection_points ?? []) as { ipv4_address?: string; network_mask?: string }[]
      for (const { ipv4_address: address, network_mask: mask } of points) {
        if (address === undefined) continue
        assert.equal(mask, '255.255.255.0')
        addresses.push(address)
        const line = String(asset.name).split('-').slice(0, 3).join('-')
        lines.set(line, (lines.get(line) ?? new Set()).add(address.replace(/[.]\d+$/, '')))
      }
    }
    assert.equal(new Set(addresses).size, addresses.length)
    assert.ok(addresses.every((address) => /^10[.]16[.]\d+[.]([1-9]|[1-9]\d|1\d\d)$/.test(address)))
    assert.deepEqual(
      [...lines].slice(0, 7).map(([line, [subnet = '', ...others]]) => `${line} ${subnet} ${others.length}`),
      [...[1, 2, 3, 4, 5, 6].map((line) => `AAR-PRESS-L0${line} 10.16.${line - 1} 0`), 'AAR-BODY-L01 10.16.6 0'],
    )
  })
})
