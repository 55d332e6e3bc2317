import { parseSignature, type SignatureAnchor, verifySignature } from '@millwright/api/artefact-signature.ts'
import type { ArtefactRow, SignatureResultRow } from './artefact-store.ts'
import type { ContentRow } from './content-row-store.ts'

/** The check of the signature of an artefact, and whether the artefact can be installed. */

type CheckedContent = Pick<ContentRow, 'sha256' | 'sha384' | 'sha512' | 'blake2b512'>

const unsigned: SignatureResultRow = {
  signatureState: 'missing',
  signatureDetail: null,
  signer: null,
  trustAnchorId: null,
  signatureExpiresAt: null,
}

/** Returns the state of a signature. It is `unchecked` without the content. */
export function checkedSignature(
  signature: string | null,
  content: CheckedContent | undefined,
  { anchors, at }: { anchors: readonly SignatureAnchor[]; at: Date },
): SignatureResultRow {
  if (signature === null) return unsigned
  if (content === undefined) return { ...unsigned, signatureState: 'unchecked' }
  const result = verifySignature(parseSignature(signature), digestsIn(content), anchors, at)
  if (result.state !== 'valid')
    return {
      ...unsigned,
      signatureState: result.state,
      signatureDetail: result.detail,
      signer: result.signer ?? null,
    }
  return {
    signatureState: 'valid',
    signatureDetail: null,
    signer: result.signer,
    trustAnchorId: result.anchorId,
    signatureExpiresAt: result.notAfter?.toISOString() ?? null,
  }
}

function digestsIn({ sha256, sha384, sha512, blake2b512 }: CheckedContent) {
  return { sha256: Buffer.from(sha256, 'hex'), sha384, sha512, blake2b512 }
}

/** Why an artefact cannot be installed. */
export type ArtefactProblem = { code: string; detail: string }

type UsabilityOptions = { allowsUnsigned: boolean; at: Date }

/** Returns why an artefact cannot be installed. Returns undefined if it can. An invalid signature is never accepted. */
export function usabilityProblem(row: ArtefactRow, options: UsabilityOptions): ArtefactProblem | undefined {
  if (!row.isComplete) return { code: 'content_incomplete', detail: 'The content is not complete. Continue the upload' }
  if (row.kind === 'logfile') return { code: 'not_installable', detail: 'A log file cannot be installed' }
  const { state, detail } = currentSignature(row, options.at)
  if (state === 'valid') return undefined
  if (state === 'invalid')
    return { code: 'signature_invalid', detail: detail ?? 'The signature does not match the content' }
  if (options.allowsUnsigned) return undefined
  if (state === 'missing')
    return {
      code: 'signature_missing',
      detail: 'The artefact has no signature. Add a signature that a trust anchor confirms',
    }
  return {
    code: 'signature_untrusted',
    detail:
      detail ??
      'No trust anchor confirms the signature. Add the certificate or public key of the signer as a trust anchor',
  }
}

/** Returns the state of a signature at a time. A signature is not trusted after its certificates have expired. */
export function currentSignature(
  { signatureState, signatureDetail, signatureExpiresAt }: SignatureResultRow,
  at: Date,
): { state: ArtefactRow['signatureState']; detail: string | null } {
  const hasExpired = signatureExpiresAt !== null && at.toISOString() > signatureExpiresAt
  if (signatureState !== 'valid' || !hasExpired) return { state: signatureState, detail: signatureDetail }
  return { state: 'untrusted', detail: `The certificates of the signature expired at ${signatureExpiresAt}` }
}
