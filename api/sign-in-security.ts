import { type Static, Type } from 'typebox'
import { empty, media, type Operation } from './contract.ts'
import { closed, data, Name, page, pageQuery, Timestamp, Uuid } from './envelope.ts'
import { type StepUpAction, signInLimits, stepUpActions } from './sign-in-limits.ts'

/** The operations for the sign-in policy, the second factor, step-up and sessions. They are part of the contract `identity`. */

export { type StepUpAction, signInLimits, stepUpActions } from './sign-in-limits.ts'

const Html = media('text/html; charset=utf-8')

/** A parameter of a form. It accepts a list, because a repeated parameter arrives as a list, which the handler refuses. */
const text = () => Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())]))
const form = <Properties extends Record<string, ReturnType<typeof text>>>(properties: Properties) =>
  Type.Object(properties, { additionalProperties: Type.Unknown() })

export const SignInPolicy = closed({
  secondFactor: Type.Union([Type.Literal('nobody'), Type.Literal('administrators'), Type.Literal('everyone')], {
    description: 'The local accounts that must have a second factor. Administrators are users with `glb_access_manage`',
  }),
  stepUp: Type.Array(Type.Unsafe<StepUpAction>(Type.String({ enum: [...stepUpActions] })), {
    uniqueItems: true,
    description: 'The actions for which users must have signed in or confirmed their identity recently',
  }),
  stepUpMinutes: Type.Integer({ ...signInLimits.stepUpMinutes, description: 'How long a confirmation is valid' }),
  idleMinutes: Type.Integer({ ...signInLimits.idleMinutes, description: 'A session ends after this time without use' }),
  absoluteHours: Type.Integer({
    ...signInLimits.absoluteHours,
    description: 'A session ends after this time, even if it is used',
  }),
})
export type SignInPolicy = Static<typeof SignInPolicy>

export const Session = closed({
  id: Uuid,
  client: Type.String({ description: 'The program of the sign-in: `console` or `cli`' }),
  device: Type.String({ description: 'The browser and operating system, from the User-Agent header' }),
  address: Type.Union([Type.String(), Type.Null()], { description: 'The IP address of the last use' }),
  provider: Type.Union([Type.String(), Type.Null()], { description: 'The title of the identity provider' }),
  methods: Type.Array(Type.String(), { description: 'How the user signed in (RFC 8176), for example `pwd`, `otp`' }),
  createdTimestamp: Timestamp,
  lastUseTimestamp: Timestamp,
  expiresTimestamp: Timestamp,
  isCurrent: Type.Boolean(),
  isUnfamiliar: Type.Boolean({
    description: 'True for a sign-in with a device or network that is new for the user, until the user confirms it',
  }),
})
export type Session = Static<typeof Session>

export const Passkey = closed({
  id: Uuid,
  name: Name,
  createdTimestamp: Timestamp,
  lastUseTimestamp: Type.Union([Timestamp, Type.Null()]),
})
export type Passkey = Static<typeof Passkey>

const AccountSecurity = closed({
  hasPassword: Type.Boolean(),
  provider: Type.Union([Type.String(), Type.Null()]),
  isSecondFactorRequired: Type.Boolean(),
  totpTimestamp: Type.Union([Timestamp, Type.Null()], { description: 'When the authenticator app was added' }),
  passkeys: Type.Array(Passkey),
  recoveryCodes: Type.Integer({ description: 'The number of unused recovery codes' }),
})

const Code = Type.String({ minLength: 1, maxLength: 64, writeOnly: true })
/** A WebAuthn response or options in the JSON form of WebAuthn Level 3. */
const WebAuthnJson = Type.Record(Type.String(), Type.Unknown())
const RecoveryCodes = data(closed({ recoveryCodes: Type.Array(Type.String()) }))

const byId = closed({ id: Uuid })

export const signInSecurityOperations = {
  secondFactor: {
    method: 'POST',
    path: '/oauth/second-factor',
    atRoot: true,
    summary: 'Submit the second factor of a sign-in',
    access: 'public',
    headers: ['cookie', 'origin', 'accept-language', 'user-agent'],
    bodyType: 'application/x-www-form-urlencoded',
    body: form({ pending: text(), code: text(), passkey: text(), step: text() }),
    answers: { 200: Html, 303: empty, 400: Html, 401: Html, 403: Html, 429: Html },
  },
  readSignInPolicy: {
    method: 'GET',
    path: '/sign-in-policy',
    summary: 'Read the sign-in policy of the tenant',
    access: 'signed-in',
    tagged: true,
    answers: { 200: data(SignInPolicy) },
  },
  updateSignInPolicy: {
    method: 'PATCH',
    path: '/sign-in-policy',
    summary: 'Change the sign-in policy of the tenant',
    access: 'glb_access_manage',
    stepUp: 'access',
    headers: ['if-match'],
    body: data(Type.Partial(SignInPolicy, { additionalProperties: false, minProperties: 1 })),
    answers: { 200: data(SignInPolicy) },
    errors: ['precondition_failed', 'second_factor_required', 'step_up_required'],
  },
  readAccountSecurity: {
    method: 'GET',
    path: '/account/security',
    summary: 'Read the second factors of your account',
    access: 'signed-in',
    answers: { 200: data(AccountSecurity) },
  },
  startTotp: {
    method: 'POST',
    path: '/account/totp',
    summary: 'Create a secret for an authenticator app; confirm it with a code',
    access: 'signed-in',
    answers: {
      200: data(
        closed({
          secret: Type.String({ description: 'The secret in base32, to type it in' }),
          uri: Type.String({ description: 'The otpauth URI' }),
          qrCode: Type.String({ description: 'The URI as a QR code (SVG)' }),
        }),
      ),
    },
    errors: ['conflict', 'step_up_required'],
    answersSecret: true,
  },
  confirmTotp: {
    method: 'POST',
    path: '/account/totp/confirm',
    summary: 'Confirm the authenticator app; the response contains recovery codes if you have none',
    access: 'signed-in',
    body: data(closed({ code: Code })),
    answers: { 200: RecoveryCodes },
    errors: ['wrong_code', 'conflict', 'step_up_required', 'too_many_requests'],
    answersSecret: true,
  },
  deleteTotp: {
    method: 'DELETE',
    path: '/account/totp',
    summary: 'Remove the authenticator app of your account',
    access: 'signed-in',
    answers: { 204: empty },
    errors: ['not_found', 'conflict', 'second_factor_required', 'step_up_required'],
  },
  startPasskey: {
    method: 'POST',
    path: '/account/passkeys/options',
    summary: 'Create the options for a new passkey (WebAuthn)',
    access: 'signed-in',
    answers: { 200: data(WebAuthnJson) },
    errors: ['conflict', 'step_up_required'],
  },
  addPasskey: {
    method: 'POST',
    path: '/account/passkeys',
    summary: 'Add a passkey; the response contains recovery codes if you have none',
    access: 'signed-in',
    body: data(closed({ name: Name, response: WebAuthnJson })),
    answers: { 201: data(closed({ passkey: Passkey, recoveryCodes: Type.Array(Type.String()) })) },
    errors: ['passkey_refused', 'already_exists', 'conflict', 'step_up_required'],
    answersSecret: true,
  },
  renamePasskey: {
    method: 'PATCH',
    path: '/account/passkeys/{id}',
    summary: 'Rename a passkey',
    access: 'signed-in',
    params: byId,
    body: data(closed({ name: Name })),
    answers: { 200: data(Passkey) },
    errors: ['not_found'],
  },
  deletePasskey: {
    method: 'DELETE',
    path: '/account/passkeys/{id}',
    summary: 'Remove a passkey',
    access: 'signed-in',
    params: byId,
    answers: { 204: empty },
    errors: ['not_found', 'conflict', 'second_factor_required', 'step_up_required'],
  },
  createRecoveryCodes: {
    method: 'POST',
    path: '/account/recovery-codes',
    summary: 'Create new recovery codes; the old codes become invalid',
    access: 'signed-in',
    answers: { 200: RecoveryCodes },
    errors: ['conflict', 'step_up_required'],
    answersSecret: true,
  },
  resetSecondFactor: {
    method: 'DELETE',
    path: '/users/{id}/second-factor',
    summary: 'Remove all second factors of a user and end the sessions of the user',
    access: 'glb_access_manage',
    stepUp: 'access',
    params: byId,
    answers: { 204: empty },
    errors: ['not_found', 'conflict', 'would_escalate'],
  },
  startStepUp: {
    method: 'POST',
    path: '/step-up/options',
    summary: 'Read how you can confirm your identity, with the options for a passkey',
    access: 'signed-in',
    answers: {
      200: data(
        closed({
          methods: Type.Array(
            Type.Union([
              Type.Literal('password'),
              Type.Literal('totp'),
              Type.Literal('passkey'),
              Type.Literal('recovery-code'),
              Type.Literal('provider'),
            ]),
          ),
          passkeyOptions: Type.Optional(WebAuthnJson),
        }),
      ),
    },
  },
  stepUp: {
    method: 'POST',
    path: '/step-up',
    summary: 'Confirm your identity for dangerous actions; then get a new access token',
    access: 'signed-in',
    body: data(
      closed({
        password: Type.Optional(Type.String({ maxLength: 256, writeOnly: true })),
        code: Type.Optional(Code),
        passkey: Type.Optional(WebAuthnJson),
      }),
    ),
    answers: { 204: empty },
    errors: ['wrong_password', 'wrong_code', 'passkey_refused', 'conflict', 'too_many_requests'],
  },
  listSessions: {
    method: 'GET',
    path: '/sessions',
    summary: 'List your sessions, the last used first',
    access: 'signed-in',
    sensitive: true,
    query: closed(pageQuery),
    answers: { 200: page(Session) },
  },
  confirmSession: {
    method: 'POST',
    path: '/sessions/{id}/confirm',
    summary: 'Confirm that a sign-in with a new device was yours',
    access: 'signed-in',
    params: byId,
    answers: { 204: empty },
    errors: ['not_found', 'conflict'],
  },
  deleteSession: {
    method: 'DELETE',
    path: '/sessions/{id}',
    summary: 'End one of your sessions',
    access: 'signed-in',
    params: byId,
    answers: { 204: empty },
    errors: ['not_found'],
  },
  deleteSessions: {
    method: 'DELETE',
    path: '/sessions',
    summary: 'Sign out everywhere: end all your sessions',
    access: 'signed-in',
    query: closed({ keepCurrent: Type.Optional(Type.Boolean({ description: 'Keeps the session of this token' })) }),
    answers: { 204: empty },
  },
  listUserSessions: {
    method: 'GET',
    path: '/users/{id}/sessions',
    summary: 'List the sessions of a user, the last used first',
    access: 'glb_access_manage',
    sensitive: true,
    params: byId,
    query: closed(pageQuery),
    answers: { 200: page(Session) },
    errors: ['not_found'],
  },
  deleteUserSessions: {
    method: 'DELETE',
    path: '/users/{id}/sessions',
    summary: 'End all sessions of a user',
    access: 'glb_access_manage',
    params: byId,
    answers: { 204: empty },
    errors: ['not_found', 'would_escalate'],
  },
} as const satisfies Record<string, Operation>
