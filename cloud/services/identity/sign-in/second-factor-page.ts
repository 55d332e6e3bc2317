import type { Answer } from '../../../platform/service.ts'
import type { WebAuthnJson } from '../factors/passkeys.ts'
import type { TotpSetup } from '../factors/totp.ts'
import { secondFactorMessages } from './second-factor-messages.ts'
import { escaped, originForPolicy, type PageOptions, page } from './sign-in-page.ts'

const action = '/oauth/second-factor'

export type SecondFactorForm = {
  /** The sign-in name of the user. */
  account: string
  /** The token of the pending sign-in. */
  pending: string
  error?: string | undefined
  /** The authorization request, to start again. */
  query: string
  /** The address to which the form may redirect. */
  returnsTo: string
}

/** The page for a user who has a second factor. */
export function secondFactorPage(
  form: SecondFactorForm & { hasTotp: boolean; passkeyOptions: WebAuthnJson | undefined },
  options: PageOptions,
): Answer<string> {
  const messages = secondFactorMessages[options.language]
  const { passkeyOptions } = form
  const field = form.hasTotp ? { label: messages.code, hint: messages.codeHint } : { label: messages.recoveryCode }
  const button =
    passkeyOptions === undefined
      ? ''
      : passkeyForm(form, {
          ceremony: 'get',
          options: passkeyOptions,
          label: messages.usePasskey,
          separator: messages.separator,
        })
  const content = `
    <h1>${messages.title}</h1>
    <p class="lead">${escaped(messages.as(form.account))}</p>
    ${alertOf(form.error)}${button}
    ${codeForm(form, { ...field, step: 'code', button: messages.confirm })}
    <p class="other"><a href="/oauth/authorize?${escaped(form.query)}">${messages.otherAccount}</a></p>`
  return show(form, { title: messages.title, content, script: passkeyOptions !== undefined }, options)
}

/** The page on which a user without a second factor sets one up, because the policy requires it. */
export function enrolmentPage(
  form: SecondFactorForm & { setup: TotpSetup; passkeyOptions: WebAuthnJson | undefined },
  options: PageOptions,
): Answer<string> {
  const messages = secondFactorMessages[options.language]
  const { setup, passkeyOptions } = form
  const passkey =
    passkeyOptions === undefined
      ? ''
      : `
    <h2>${messages.orPasskey}</h2>
    <p class="hint">${messages.passkeyReason}</p>
    ${passkeyForm(form, { ceremony: 'create', options: passkeyOptions, label: messages.createPasskey })}`
  const content = `
    <h1>${messages.enrol}</h1>
    <p class="lead">${messages.enrolReason} ${escaped(messages.as(form.account))}.</p>
    ${alertOf(form.error)}
    <h2>${messages.app}</h2>
    <p class="hint">${messages.scan}</p>
    <div class="qr" role="img" aria-label="${messages.qrCode}">${setup.qrCode}</div>
    <p class="hint">${messages.typeIn}</p>
    <p><code id="secret">${escaped(inGroups(setup.secret))}</code></p>
    ${codeForm(form, { label: messages.appCode, step: 'totp', button: messages.confirm })}${passkey}
    <p class="other"><a href="/oauth/authorize?${escaped(form.query)}">${messages.otherAccount}</a></p>`
  return show(form, { title: messages.enrol, content, script: passkeyOptions !== undefined }, options)
}

/** The page that shows the new recovery codes once. */
export function recoveryCodesPage(
  form: SecondFactorForm & { recoveryCodes: readonly string[] },
  options: PageOptions,
): Answer<string> {
  const messages = secondFactorMessages[options.language]
  const content = `
    <h1>${messages.codes}</h1>
    <p class="lead">${messages.codesReason}</p>
    <ul class="codes">${form.recoveryCodes.map((code) => `<li><code>${escaped(code)}</code></li>`).join('')}</ul>
    <form method="post" action="${action}">
      ${hidden('pending', form.pending)}${hidden('step', 'done')}
      <button type="submit">${messages.saved}</button>
    </form>`
  return show(form, { title: messages.codes, content, script: false }, options)
}

/** The page after which the user must enter the password again. */
export function restartPage(
  { message, query }: { message: string; query: string | undefined },
  options: PageOptions,
): Answer<string> {
  const messages = secondFactorMessages[options.language]
  const link =
    query === undefined
      ? ''
      : `
    <p><a class="button" href="/oauth/authorize?${escaped(query)}">${messages.signInAgain}</a></p>`
  const content = `
    <h1>${messages.title}</h1>
    ${alertOf(message)}${link}`
  return page({ title: messages.error, content, formAction: `'none'` }, options)
}

type Shown = { title: string; content: string; script: boolean }

function show(form: SecondFactorForm, { title, content, script }: Shown, options: PageOptions): Answer<string> {
  const shownTitle = form.error === undefined ? title : secondFactorMessages[options.language].error
  const formAction = `'self' ${originForPolicy(form.returnsTo)}`
  const failed = `<p class="error" id="passkey-error" role="alert" hidden>${secondFactorMessages[options.language].passkeyFailed}</p>`
  return page(
    script
      ? { title: shownTitle, content: `${content}\n    ${failed}`, formAction, script: passkeyScript }
      : { title: shownTitle, content, formAction },
    options,
  )
}

/** Separates a secret into groups of four characters, which are easier to type. */
function inGroups(secret: string): string {
  return secret.match(/.{1,4}/g)?.join(' ') ?? secret
}

function alertOf(error: string | undefined): string {
  return error === undefined ? '' : `<p class="error" id="error" role="alert">${escaped(error)}</p>`
}

function hidden(name: string, value: string): string {
  return `<input type="hidden" name="${name}" value="${escaped(value)}">`
}

type CodeField = { label: string; hint?: string; step: string; button: string }

function codeForm({ pending, error }: SecondFactorForm, { label, hint, step, button }: CodeField): string {
  const descriptions = [...(hint === undefined ? [] : ['hint']), ...(error === undefined ? [] : ['error'])]
  const described = descriptions.length === 0 ? '' : ` aria-describedby="${descriptions.join(' ')}"`
  return `<form method="post" action="${action}">
      ${hidden('pending', pending)}${hidden('step', step)}
      <label for="code">${label}</label>
      <input id="code" name="code" type="text" autocomplete="one-time-code" autocapitalize="none" spellcheck="false"
        required maxlength="64"${described}${error === undefined ? '' : ' aria-invalid="true"'} autofocus>
      ${hint === undefined ? '' : `<p class="hint" id="hint">${hint}</p>`}
      <button type="submit">${button}</button>
    </form>`
}

type PasskeyButton = { ceremony: 'get' | 'create'; options: WebAuthnJson; label: string; separator?: string }

/** The form of the passkey button. It is hidden until the script runs, because it does not work without the script. */
function passkeyForm({ pending }: SecondFactorForm, { ceremony, options, label, separator }: PasskeyButton): string {
  const data = `data-ceremony="${ceremony}" data-options="${escaped(JSON.stringify(options))}"`
  return `<form method="post" action="${action}" id="passkey-form" ${data} hidden>
      ${hidden('pending', pending)}${hidden('step', 'passkey')}${hidden('passkey', '')}
      <button type="submit">${label}</button>${separator === undefined ? '' : `<p class="separator">${separator}</p>`}
    </form>`
}

/**
 * The script of the passkey button. It converts the options from JSON, and the response to JSON, because older browsers
 * have no functions for it.
 */
const passkeyScript = `
const form = document.getElementById('passkey-form')
const failed = document.getElementById('passkey-error')
const toBytes = (text) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) => character.charCodeAt(0))
const toText = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
const withBytes = (credentials) => (credentials || []).map((each) => ({ ...each, id: toBytes(each.id) }))
async function usePasskey() {
  const options = JSON.parse(form.dataset.options)
  const publicKey = { ...options, challenge: toBytes(options.challenge) }
  if (form.dataset.ceremony === 'create') {
    publicKey.user = { ...options.user, id: toBytes(options.user.id) }
    publicKey.excludeCredentials = withBytes(options.excludeCredentials)
    const { id, type, response } = await navigator.credentials.create({ publicKey })
    const transports = response.getTransports ? response.getTransports() : []
    return { id, rawId: id, type, clientExtensionResults: {}, response: { transports,
      clientDataJSON: toText(response.clientDataJSON), attestationObject: toText(response.attestationObject) } }
  }
  publicKey.allowCredentials = withBytes(options.allowCredentials)
  const { id, type, response } = await navigator.credentials.get({ publicKey })
  return { id, rawId: id, type, clientExtensionResults: {}, response: {
    clientDataJSON: toText(response.clientDataJSON), authenticatorData: toText(response.authenticatorData),
    signature: toText(response.signature) } }
}
form.hidden = window.PublicKeyCredential === undefined
if (form.dataset.ceremony === 'get' && document.getElementById('error') === null) form.querySelector('button').focus()
form.addEventListener('submit', (event) => {
  event.preventDefault()
  failed.hidden = true
  usePasskey().then((passkey) => {
    form.elements.passkey.value = JSON.stringify(passkey)
    form.submit()
  }, () => { failed.hidden = false })
})
`
