import { updateLimits } from '@millwright/api/update-limits.ts'
import type { Artefact } from '@millwright/api/updates.ts'
import { compareVersions } from '@millwright/api/version-order.ts'
import { isInRange } from '@millwright/api/version-range.ts'

/**
 * The path of versions: the artefacts that are installed one after the other until the version of the campaign is reached.
 * Each artefact on the path can be installed on the version before it, and each is nearer to the version of the campaign.
 */

export type VersionStep = Pick<Artefact, 'id' | 'version'> & { readonly requires?: Requirements | null | undefined }

type Requirements = readonly { readonly from?: string }[]

/** The maximum number of artefacts between the installed version and the version of the campaign that are considered. */
export const stepCandidates = 200

/** Returns whether an artefact can be installed on a version. An unknown version matches only if nothing is required. */
export function canInstallOn({ requires }: VersionStep, installed: string | undefined): boolean {
  if (requires === undefined || requires === null || requires.length === 0) return true
  return requires.some(({ from }) => from === undefined || (installed !== undefined && isInRange(installed, from)))
}

/**
 * Returns the shortest path from the installed version to an artefact, which is its last step. Of several shortest paths, it
 * returns the one with the newest steps, compared from the first step on. Returns undefined if there is no path with at most
 * `updateLimits.steps` steps.
 */
export function versionPath<Step extends VersionStep>(
  target: Step,
  installed: string | undefined,
  others: readonly Step[],
): Step[] | undefined {
  if (canInstallOn(target, installed)) return [target]
  if (installed === undefined) return undefined
  const direction = Math.sign(compareVersions(target.version, installed))
  const isNearer = (one: string, than: string) => Math.sign(compareVersions(one, than)) === direction
  const candidates = others
    .filter(({ version }) => isNearer(version, installed) && isNearer(target.version, version))
    .toSorted((one, other) => compareVersions(other.version, one.version) || (one.id < other.id ? -1 : 1))
    .slice(0, stepCandidates)
  const reached = new Set<Step>()
  let paths: Step[][] = [[]]
  for (let length = 1; length < updateLimits.steps; length++) {
    const longer: Step[][] = []
    for (const path of paths) {
      const version = path.at(-1)?.version ?? installed
      for (const step of candidates) {
        if (reached.has(step) || !isNearer(step.version, version) || !canInstallOn(step, version)) continue
        if (canInstallOn(target, step.version)) return [...path, step, target]
        reached.add(step)
        longer.push([...path, step])
      }
    }
    paths = longer
  }
  return undefined
}
