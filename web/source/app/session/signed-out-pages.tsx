import { type ReactNode, useState } from 'react'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import { useLanguage, useText } from '../language/language-context.tsx'
import { areas } from '../navigation/areas.ts'
import { beginSignIn, type Metadata } from './session.ts'
import { outsideMessages } from './signed-out-messages.ts'

/** The pages of somebody who is not signed in. */

function Porch({ children }: { children: ReactNode }) {
  const text = useText(outsideMessages)
  return (
    <div className="porch">
      <header className="porch-bar">
        <a className="porch-brand" href="/console/">
          <img src="/console/mark.svg" alt="" width="26" height="26" />
          <span>Millwright</span>
        </a>
      </header>
      <main id="main" className="porch-main">
        {children}
      </main>
      <footer className="porch-foot">
        <nav aria-label={text.referenceNavigation}>
          <a href="/docs">{text.reference}</a>
          <a href="/docs/problems">{text.problems}</a>
        </nav>
      </footer>
    </div>
  )
}

type Why = 'signed-out' | 'ended' | 'elsewhere' | undefined

/** What this is, and the way in. */
export function Outside({ metadata, why }: { metadata: Metadata; why?: Why }) {
  const text = useText(outsideMessages)
  const language = useLanguage()
  const [failure, setFailure] = useState<unknown>()
  const [isLeaving, setLeaving] = useState(false)
  usePageTitle('')
  const path = location.pathname.replace(/^\/console/, '')
  const wanted = areas.find((area) => area.path !== '/' && path.startsWith(area.path))
  const reasons = { 'signed-out': text.signedOut, ended: text.ended, elsewhere: text.signedOutElsewhere }
  const signIn = () => {
    setLeaving(true)
    beginSignIn(metadata).catch((error) => {
      setLeaving(false)
      setFailure(error)
    })
  }
  return (
    <Porch>
      <img className="porch-drawing" src="/console/gears.svg" alt="" />
      <div className="porch-hero">
        {why !== undefined && (
          <p className="porch-notice" role="status">
            {reasons[why]}
          </p>
        )}
        <h1>{text.headline}</h1>
        <p className="porch-lead">{text.lead}</p>
        {wanted !== undefined && (
          <p>
            {text.signInToOpen} <strong>{wanted.title[language]}</strong>.
          </p>
        )}
        <p className="porch-actions">
          <button type="button" className="porch-button" disabled={isLeaving} onClick={signIn}>
            {text.signIn}
          </button>
          <a href="/docs">{text.reference}</a>
        </p>
        {failure !== undefined && <ProblemMessage failure={failure} onRetry={signIn} />}
      </div>
      <section className="porch-card" aria-labelledby="first-time">
        <h2 id="first-time">{text.firstTime}</h2>
        <p>{text.firstUser}</p>
        <p>
          <code>first-run.json</code> {text.firstFile} <code>.millwright</code> {text.firstFolder}{' '}
          <code>MILLWRIGHT_HOME</code> {text.firstElse}
        </p>
      </section>
    </Porch>
  )
}

export function StartFault({ failure, onRetry }: { failure: unknown; onRetry: () => void }) {
  const text = useText(outsideMessages)
  return (
    <Porch>
      <h1>{text.notOpened}</h1>
      <ProblemMessage failure={failure} onRetry={onRetry} />
    </Porch>
  )
}

/** The address is not the platform's own, or the browser does not trust it enough. */
export function CannotSignIn({ home }: { home: string | undefined }) {
  const text = useText(outsideMessages)
  return (
    <Porch>
      <h1>{text.wrongAddress}</h1>
      {home === undefined ? (
        <p>{text.needsHttps}</p>
      ) : (
        <p>
          {text.callsItself} <a href={`${home}/`}>{home}</a>. {text.setBaseUrl}
        </p>
      )}
    </Porch>
  )
}
