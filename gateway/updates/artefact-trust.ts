import {
  digestsNeeded,
  parseSignature,
  parseTrustAnchor,
  type SignatureAnchor,
  type SignatureResult,
  verifySignature,
} from '@millwright/api/artefact-signature.ts'
import { updateLimits } from '@millwright/api/updates.ts'
import { type Static, Type } from 'typebox'
import Value from 'typebox/value'
import { readIfExists } from '../durable-file.ts'
import type { CachedArtefact } from './artefact-cache.ts'
import { UpdateError } from './update-error.ts'
import type { UpdateDefinition } from './update-job.ts'

/**
 * The gateway checks the signature of each artefact itself. It uses the trust anchors of the job. If the local file
 * `update-trust.json` exists, only the trust anchors and the setting in this file apply, so that the operator of a machine
 * decides which artefacts its devices accept.
 */

/** The name of the file in the home of the gateway. */
export const updateTrustFileName = 'update-trust.json'

const TrustFile = Type.Object(
  {
    /** Certificates in PEM format and public keys of minisign. */
    trustAnchors: Type.Array(Type.String({ maxLength: updateLimits.trustAnchorCharacters }), {
      maxItems: updateLimits.trustAnchors,
    }),
    allowsUnsigned: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
)

export type ArtefactTrust = { trustAnchors: SignatureAnchor[]; allowsUnsigned: boolean; isLocal: boolean }

/** Returns the local settings, or undefined if the file does not exist. An invalid file allows no artefact. */
export async function readTrustFile(file: string): Promise<ArtefactTrust | undefined> {
  const text = await readIfExists(file)
  if (text === undefined) return undefined
  const fault = (what: string) =>
    new UpdateError('invalid_trust_file', `${file} is not valid: ${what}. Correct the file`)
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch (error) {
    throw fault(`it is not JSON (${(error as Error).message})`)
  }
  const [error] = Value.Errors(TrustFile, content)
  if (error !== undefined) throw fault(`${error.instancePath} ${error.message}`)
  const { trustAnchors, allowsUnsigned = false } = content as Static<typeof TrustFile>
  return {
    trustAnchors: trustAnchors.map((anchor, index) => {
      try {
        const { format, publicKey } = parseTrustAnchor(anchor)
        return { id: `${updateTrustFileName} ${index + 1}`, format, publicKey }
      } catch (error) {
        throw fault(`trust anchor ${index + 1}: ${(error as Error).message}`)
      }
    }),
    allowsUnsigned,
    isLocal: true,
  }
}

type TrustOptions = { file: string; now: Date }

/** Checks the signature of a downloaded artefact. Throws an `UpdateError` if the artefact must not be installed. */
export async function requireTrusted(
  artefact: CachedArtefact,
  definition: UpdateDefinition,
  { file, now }: TrustOptions,
): Promise<void> {
  const local = await readTrustFile(file)
  const { trustAnchors, allowsUnsigned } = local ?? definition
  const { signature } = definition.artefact
  const source = local === undefined ? 'the platform' : updateTrustFileName
  if (signature === undefined) {
    if (allowsUnsigned) return
    throw new UpdateError(
      'artefact_not_trusted',
      `The artefact has no signature, and ${source} does not allow unsigned artefacts`,
    )
  }
  const result = await check(artefact, signature, { trustAnchors, now })
  if (result.state === 'valid' || (result.state === 'untrusted' && allowsUnsigned)) return
  throw new UpdateError(
    'artefact_not_trusted',
    result.state === 'invalid'
      ? `The signature of the artefact is not valid: ${result.detail}`
      : `No trust anchor of ${source} confirms the signature of the artefact: ${result.detail}`,
  )
}

type CheckOptions = { trustAnchors: readonly SignatureAnchor[]; now: Date }

async function check(
  artefact: CachedArtefact,
  signature: string,
  { trustAnchors, now }: CheckOptions,
): Promise<SignatureResult> {
  let parsed: ReturnType<typeof parseSignature>
  try {
    parsed = parseSignature(signature)
  } catch (error) {
    return { state: 'invalid', detail: (error as Error).message }
  }
  const digests: Partial<Record<ReturnType<typeof digestsNeeded>[number], Buffer>> = {}
  for (const name of digestsNeeded(parsed)) digests[name] = await artefact.digest(name)
  return verifySignature(parsed, digests, trustAnchors, now)
}
