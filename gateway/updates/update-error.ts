/** The reasons why an update or a retrieval fails on the gateway. The result of the job contains the code. */
export const updateErrorCodes = [
  'artefact_too_large',
  'artefact_not_found',
  'storage_full',
  'hash_mismatch',
  'artefact_not_trusted',
  'invalid_trust_file',
  'link_not_found',
  'not_supported',
  'link_lost',
  'link_silent',
  'link_busy',
  'link_protocol',
  'link_failed',
  'another_device',
  'incompatible',
  'unauthenticated',
  'activation_expired',
  'version_mismatch',
  'version_unknown',
  'empty_content',
] as const
export type UpdateErrorCode = (typeof updateErrorCodes)[number]

/** `UpdateError` is a failure with its code. */
export class UpdateError extends Error {
  override readonly name = 'UpdateError'
  readonly code: UpdateErrorCode

  constructor(code: UpdateErrorCode, message: string) {
    super(message)
    this.code = code
  }
}
