import { isAtLeast } from '../semantic-version.ts'
import { StartError } from '../start-error.ts'
import { productVersion } from '../version.ts'

/**
 * This file decides whether a process can run on the tables of a newer version. During a rolling upgrade, the first
 * process of the new version migrates the tables while processes of the old version still run and can be restarted.
 *
 * A migration is an expansion or a contraction. An expansion only adds, so that every older process can run. A
 * contraction removes or restricts. The line `-- contract: <version>` in its file names the oldest version that does not
 * use what the migration removes. The runner stores the version with the applied migration, because an older process does
 * not have the file. A process starts on the tables of a newer version only if it can run with each of its migrations.
 */

/** The value for expansions in `migrations.compatible_with`. The value for contractions is a version. */
export const allVersions = 'all'

const contractLine = /^-- contract: (\S+)$/m

/** Returns the oldest version that can run after this migration, or `all`. */
export function compatibleWith(text: string): string {
  return contractLine.exec(text)?.[1] ?? allVersions
}

/** `compatible` is null if the migration was applied by a version that did not store this value. */
export type AppliedMigration = { checksum: string; compatible: string | null }

type MigrationState = {
  /** The checksums of the migrations of this version, by `module/name`. */
  known: ReadonlyMap<string, string>
  applied: ReadonlyMap<string, AppliedMigration>
}

type RequireOptions = {
  /** Set in a process that can run on the tables of a newer version. Commands of the owner change tables and keys, so they cannot. */
  acceptNewer: boolean
  version?: string
}

/** Throws if this version cannot run on the tables. Returns whether a newer version has migrated them. */
export function requireCompatible(
  { known, applied }: MigrationState,
  { acceptNewer, version = productVersion }: RequireOptions,
): { hasNewer: boolean } {
  const newer = [...applied.keys()].filter((id) => !known.has(id))
  const changed = [...applied].find(([id, { checksum }]) => known.has(id) && known.get(id) !== checksum)
  if (changed !== undefined) {
    throw new StartError(`The migration ${changed[0]} was changed after it was applied: restore the original file.`)
  }
  const refused = newer.find((id) => !isCompatible(applied.get(id)?.compatible ?? null, version))
  if (refused !== undefined) {
    throw new StartError(
      `The database was migrated by a newer version (${refused}): start that version, or restore a backup.`,
    )
  }
  if (newer.length > 0 && !acceptNewer) {
    throw new StartError(
      `The database was migrated by a newer version (${newer[0]}): run this command with that version.`,
    )
  }
  const missing = [...known.keys()].find((id) => !applied.has(id))
  if (newer.length > 0 && missing !== undefined) {
    throw new StartError(
      `The database was migrated by another version (${newer[0]}) without the migration ${missing} of this version: start that version, or restore a backup.`,
    )
  }
  return { hasNewer: newer.length > 0 }
}

function isCompatible(compatible: string | null, version: string): boolean {
  return compatible === allVersions || (compatible !== null && isAtLeast(version, compatible))
}
