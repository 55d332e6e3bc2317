import assert from 'node:assert/strict'
import { test } from 'node:test'
import { updateLimits } from '@millwright/api/update-limits.ts'
import { compareVersions } from '@millwright/api/version-order.ts'
import fc from 'fast-check'
import { canInstallOn, type VersionStep, versionPath } from './version-path.ts'

function step(version: string, ...ranges: string[]): VersionStep {
  return { id: `artefact ${version} ${ranges.join()}`, version, requires: ranges.map((from) => ({ from })) }
}

function versions(path: readonly VersionStep[] | undefined): string[] | undefined {
  return path?.map(({ version }) => version)
}

test('installs an artefact directly if it can be installed on the installed version', () => {
  assert.deepEqual(versions(versionPath(step('3.0', '>=2.0'), '2.4', [step('2.9')])), ['3.0'])
  assert.deepEqual(versions(versionPath(step('3.0'), undefined, [])), ['3.0'])
})

test('finds the shortest path over other artefacts, with the newest steps', () => {
  const others = [step('2.0', '>=1.0'), step('2.5', '>=1.0'), step('2.9', '2.5'), step('1.5')]
  assert.deepEqual(versions(versionPath(step('3.0', '>=2.0'), '1.0', others)), ['2.5', '3.0'])
  assert.deepEqual(versions(versionPath(step('3.0', '2.9'), '1.0', others)), ['2.5', '2.9', '3.0'])
  assert.equal(versionPath(step('3.0', '2.7'), '1.0', others), undefined)
})

test('finds no path for a device with an unknown version if the artefact requires a version', () => {
  assert.equal(versionPath(step('3.0', '*'), undefined, [step('2.0')]), undefined)
  const open: VersionStep = { id: 'open', version: '3.0', requires: [{}] }
  assert.deepEqual(versions(versionPath(open, undefined, [])), ['3.0'])
})

test('finds a path of older versions for a downgrade', () => {
  const others = [step('2.0', '3.0'), step('1.5', '2.0'), step('4.0')]
  assert.deepEqual(versions(versionPath(step('1.0', '1.5'), '3.0', others)), ['2.0', '1.5', '1.0'])
})

test('finds no path with more than the maximum number of steps', () => {
  const chain = Array.from({ length: 20 }, (_, index) => step(`1.${index + 1}`, `1.${index}`))
  const target = (number: number) => step(`2.${number}`, `1.${number}`)
  assert.equal(versionPath(target(updateLimits.steps - 1), '1.0', chain)?.length, updateLimits.steps)
  assert.equal(versionPath(target(updateLimits.steps), '1.0', chain), undefined)
})

/** Finds all paths by trying every sequence of artefacts. Returns the best of them. */
function bruteForce(target: VersionStep, installed: string, others: readonly VersionStep[]): string[] | undefined {
  const direction = Math.sign(compareVersions(target.version, installed))
  const isNearer = (one: string, than: string) => Math.sign(compareVersions(one, than)) === direction
  const found: VersionStep[][] = []
  const extend = (path: VersionStep[]): void => {
    const version = path.at(-1)?.version ?? installed
    if (canInstallOn(target, version)) found.push([...path, target])
    if (path.length + 1 >= updateLimits.steps) return
    for (const next of others) {
      const isPossible = isNearer(next.version, version) && isNearer(target.version, next.version)
      if (isPossible && canInstallOn(next, version)) extend([...path, next])
    }
  }
  extend([])
  const newestFirst = (one: VersionStep[], other: VersionStep[]) => {
    for (const [index, each] of one.entries()) {
      const order = compareVersions(other[index]?.version ?? '', each.version)
      if (order !== 0) return order
    }
    return 0
  }
  const [best] = found.toSorted((one, other) => one.length - other.length || newestFirst(one, other))
  return best?.map(({ version }) => version)
}

test('finds the same path as a search of all sequences of artefacts', () => {
  const number = fc.integer({ min: 1, max: 9 }).map((minor) => `1.${minor}`)
  const range = fc.oneof(
    number,
    number.map((version) => `>=${version}`),
    fc.tuple(number, number).map(([from, to]) => `>${from} <=${to}`),
  )
  const artefact = fc
    .record({ version: number, requires: fc.array(range, { maxLength: 2 }) })
    .map(({ version, requires }) => step(version, ...requires))
  fc.assert(
    fc.property(artefact, number, fc.array(artefact, { maxLength: 7 }), (target, installed, others) => {
      if (compareVersions(target.version, installed) === 0) return
      assert.deepEqual(versions(versionPath(target, installed, others)), bruteForce(target, installed, others))
    }),
    { numRuns: 2_000 },
  )
})
