import type { DriftProduct } from '@millwright/api/updates.ts'
import { compareVersions } from '@millwright/api/version-order.ts'
import type { CSSProperties } from 'react'
import { messages } from '../../app/language/language.ts'

/** The kinds of firmware versions of a product, with the same names and colours on all pages. */

export const versionKinds = ['newest', 'older', 'unknown'] as const
type VersionKind = (typeof versionKinds)[number]
type Version = DriftProduct['versions'][number]

export const versionKindNames = messages({
  en: {
    newest: 'Newest known version',
    older: 'Outdated (darker is older)',
    unknown: 'Unknown version',
  },
  de: {
    newest: 'Neueste bekannte Version',
    older: 'Veraltet (dunkler ist älter)',
    unknown: 'Unbekannte Version',
  },
})

export function versionKindOf({ version }: Version, newestKnown: string | undefined): VersionKind {
  if (version === null) return 'unknown'
  return version === newestKnown ? 'newest' : 'older'
}

/** The share of the dark colour in the colour of the oldest version, in percent. */
const darkest = 45

/** Returns a function that returns the shade of a version: the oldest version of a product is darkest. */
export function versionShades({ versions, newestKnown }: DriftProduct): (version: Version) => CSSProperties {
  const older = versions.filter(({ version }) => version !== null && version !== newestKnown)
  const byAge = older.toSorted((a, b) => compareVersions(String(b.version), String(a.version)))
  const shades = new Map(byAge.map((each, index) => [each, (darkest * index) / Math.max(1, byAge.length - 1)]))
  return (version) => ({ '--age': `${Math.round(shades.get(version) ?? 0)}%` }) as CSSProperties
}
