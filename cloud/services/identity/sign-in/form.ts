import type { IdentityContext } from '../context.ts'
import { type AuthorizationRequest, queryOf } from '../oauth/authorization-request.ts'
import { isFormProof } from '../oauth/form-proof.ts'
import { formCookie, readCookie } from './cookie.ts'

/** Returns the text of a form field. A field that is missing or sent more than once is empty. */
export function fieldText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Returns whether a page of another site sent the form. Programs other than browsers send no origin. */
export function isForeignOrigin(origin: string | undefined, baseUrl: string): boolean {
  return origin !== undefined && origin !== new URL(baseUrl).origin
}

type Sender = { origin: string | undefined; cookies: string | undefined; proof: string }

/** Returns whether the form comes from the sign-in page, in the same browser, for the same request. */
export function isOwnForm(
  { context }: IdentityContext,
  request: AuthorizationRequest,
  { origin, cookies, proof }: Sender,
): boolean {
  const { baseUrl } = context.settings
  if (isForeignOrigin(origin, baseUrl)) return false
  const browser = readCookie(cookies, formCookie, baseUrl)
  return isFormProof(context.secrets, { browser, proof, query: queryOf(request) })
}
