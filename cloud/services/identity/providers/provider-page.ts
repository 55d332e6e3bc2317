import type { Answer } from '../../../platform/service.ts'
import { type Language, signInMessages } from '../sign-in/sign-in-messages.ts'
import { escaped, type PageOptions, page } from '../sign-in/sign-in-page.ts'
import type { ProviderErrorCode } from './provider-error.ts'
import { providerMessages } from './provider-messages.ts'

type Alternatives = {
  providers: readonly { id: string; title: string }[]
  /** The authorization request as a query string. */
  query: string
  proof: string
  /** Whether the page contains a form to choose another tenant. */
  hasOtherTenants: boolean
  language: Language
}

/** Returns the part of the sign-in page below the password: the buttons of the providers and the choice of a tenant. */
export function alternativesOf({ providers, query, proof, hasOtherTenants, language }: Alternatives): string {
  const messages = providerMessages[language]
  const buttons = providers.map(
    ({ id, title }) => `
    <form class="provider" method="post" action="${escaped(`/oauth/provider?${query}`)}">
      <input type="hidden" name="proof" value="${escaped(proof)}">
      <input type="hidden" name="provider" value="${escaped(id)}">
      <button class="secondary" type="submit">${escaped(messages.signInWith(title))}</button>
    </form>`,
  )
  const parameters = [...new URLSearchParams(query)].filter(([name]) => name !== 'tenant')
  const fields = parameters.map(
    ([name, value]) => `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`,
  )
  const tenants = `
    <details>
      <summary>${messages.otherTenant}</summary>
      <form class="tenant" method="get" action="/oauth/authorize">
        ${fields.join('')}
        <label for="tenant">${messages.tenant}</label>
        <input id="tenant" name="tenant" type="text" autocapitalize="none" spellcheck="false" required maxlength="63"
          pattern="[a-z0-9][a-z0-9\\-]*">
        <button class="secondary" type="submit">${messages.continue}</button>
      </form>
    </details>`
  const separator = `\n    <p class="separator">${messages.separator}</p>`
  return `${buttons.length === 0 ? '' : separator}${buttons.join('')}${hasOtherTenants ? tenants : ''}`
}

type Continuation = { title: string; url: string }

/**
 * Returns the page that opens the identity provider. It is a page and not a redirect, because browsers apply the
 * content security policy of a form to all redirects after it, and providers redirect to addresses that are not known.
 */
export function continuePage({ title, url }: Continuation, options: PageOptions): Answer<string> {
  const messages = providerMessages[options.language]
  const content = `
    <meta http-equiv="refresh" content="0; url=${escaped(url)}">
    <h1>${escaped(messages.continueAt(title))}</h1>
    <p class="lead">${escaped(messages.leaving(title))}</p>
    <p><a href="${escaped(url)}" rel="noreferrer">${escaped(messages.continueAt(title))}</a></p>`
  return page({ title: messages.continueAt(title), content, formAction: `'none'` }, options)
}

/** Returns the page of a failed sign-in: what to do, and the code for the administrator. */
export function failurePage(
  message: string,
  code: ProviderErrorCode | undefined,
  options: PageOptions,
): Answer<string> {
  const { cannotContinue, startAgain, cannotContinueTitle } = signInMessages[options.language]
  const shownCode = code === undefined ? '' : providerMessages[options.language].errorCode(code)
  const content = `
    <h1>${cannotContinue}</h1>
    <p class="error" role="alert">${escaped(message)}</p>
    <p class="lead">${startAgain}</p>
    <p class="hint">${escaped(shownCode)}</p>`
  return page({ title: cannotContinueTitle, content, formAction: `'none'` }, options)
}
