import { type ReactNode, useState } from 'react'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import { useFormats, useLanguage, useText } from '../language/language-context.tsx'
import { areas } from '../navigation/areas.ts'
import { beginSignIn, type Metadata } from './session.ts'
import { signedOutMessages } from './signed-out-messages.ts'
import type { SignedOutReason } from './startup.ts'

/** This file contains the pages that are shown while no user is signed in. */

function SignedOutLayout({ children }: { children: ReactNode }) {
  const text = useText(signedOutMessages)
  return (
    <div className="signed-out">
      <header className="signed-out-bar">
        <a className="signed-out-brand" href="/console/">
          <img src="/console/mark.svg" alt="" width="26" height="26" />
          <span>Millwright</span>
        </a>
      </header>
      <main id="main" className="signed-out-main">
        {children}
      </main>
      <footer className="signed-out-foot">
        <nav aria-label={text.referenceNavigation}>
          <a href="/docs">{text.documentation}</a>
          <a href="/docs/api">{text.reference}</a>
          <a href="/docs/problems">{text.problems}</a>
        </nav>
      </footer>
    </div>
  )
}

type SignInPageProps = { metadata: Metadata; reason?: SignedOutReason | undefined }

/** `SignInPage` introduces the product and starts the sign-in. */
export function SignInPage({ metadata, reason }: SignInPageProps) {
  const text = useText(signedOutMessages)
  const language = useLanguage()
  const [failure, setFailure] = useState<unknown>()
  const [isRedirecting, setRedirecting] = useState(false)
  usePageTitle('')
  const path = location.pathname.replace(/^\/console/, '')
  const requestedArea = areas.find((area) => area.path !== '/' && path.startsWith(area.path))
  const signIn = () => {
    setRedirecting(true)
    beginSignIn(metadata).catch((error) => {
      setRedirecting(false)
      setFailure(error)
    })
  }
  return (
    <SignedOutLayout>
      <img className="signed-out-drawing" src="/console/gears.svg" alt="" />
      <div className="signed-out-hero">
        {reason !== undefined && (
          <p className="signed-out-notice" role="status">
            <ReasonText reason={reason} />
          </p>
        )}
        <h1>{text.headline}</h1>
        <p className="signed-out-lead">{text.lead}</p>
        {requestedArea !== undefined && (
          <p>
            {text.signInToOpen} <strong>{requestedArea.title[language]}</strong>.
          </p>
        )}
        <p className="signed-out-actions">
          <button type="button" className="signed-out-button" disabled={isRedirecting} onClick={signIn}>
            {text.signIn}
          </button>
          <a href="/docs">{text.documentation}</a>
        </p>
        {failure !== undefined && <ProblemMessage failure={failure} onRetry={signIn} />}
      </div>
      <section className="signed-out-card" aria-labelledby="first-time">
        <h2 id="first-time">{text.firstTime}</h2>
        <p>{text.firstUser}</p>
        <p>
          <code>first-run.json</code> {text.firstFile} <code>.millwright</code> {text.firstFolder}{' '}
          <code>MILLWRIGHT_HOME</code> {text.firstElse}
        </p>
      </section>
    </SignedOutLayout>
  )
}

function ReasonText({ reason }: { reason: SignedOutReason }) {
  const text = useText(signedOutMessages)
  const formats = useFormats()
  if (typeof reason === 'object') return text.idle(formats.minutes(reason.idleMinutes))
  return { 'signed-out': text.signedOut, ended: text.ended, elsewhere: text.signedOutElsewhere }[reason]
}

export function StartupErrorPage({ failure, onRetry }: { failure: unknown; onRetry: () => void }) {
  const text = useText(signedOutMessages)
  return (
    <SignedOutLayout>
      <h1>{text.startupFailed}</h1>
      <ProblemMessage failure={failure} onRetry={onRetry} />
    </SignedOutLayout>
  )
}

/**
 * `WrongAddressPage` is shown when the console was opened at an address where sign-in is not possible. It shows the
 * configured address of the server or, without `home`, states that HTTPS is required.
 */
export function WrongAddressPage({ home }: { home: string | undefined }) {
  const text = useText(signedOutMessages)
  return (
    <SignedOutLayout>
      <h1>{text.wrongAddress}</h1>
      {home === undefined ? (
        <p>{text.needsHttps}</p>
      ) : (
        <p>
          {text.configuredAddress} <a href={`${home}/`}>{home}</a>. {text.setBaseUrl}
        </p>
      )}
    </SignedOutLayout>
  )
}
