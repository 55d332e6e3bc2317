/** The reasons why a sign-in with an identity provider fails. Administrators find them in the audit trail. */
export type ProviderErrorCode =
  | 'outbound_not_allowed'
  | 'provider_unreachable'
  | 'invalid_provider'
  | 'provider_refused'
  | 'invalid_response'
  | 'sign_in_expired'
  | 'group_overage'
  | 'too_many_groups'
  | 'invalid_subject'
  | 'user_disabled'
  | 'provider_disabled'

/**
 * `ProviderError` ends a sign-in with an identity provider. The message is for administrators: it states what is wrong and
 * what to do. It contains no tokens, codes or secrets.
 */
export class ProviderError extends Error {
  readonly code: ProviderErrorCode

  constructor(code: ProviderErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ProviderError'
    this.code = code
  }
}
