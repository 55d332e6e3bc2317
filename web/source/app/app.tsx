import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import { Loading } from '../components/feedback/loading.tsx'
import { newQueryClient } from './api/queries.ts'
import { languageOfBrowser, languages } from './language/language.ts'
import { LanguageContext } from './language/language-context.tsx'
import { invalidateQueriesOnEvents } from './live/live-queries.ts'
import { AppContext, type AppContextValue } from './session/app-context.tsx'
import type { Metadata } from './session/session.ts'
import { SignInPage, StartupErrorPage, WrongAddressPage } from './session/signed-out-pages.tsx'
import { resolveStartup, type SignedOutReason, type StartupResult, startUserSession } from './session/startup.ts'
import { themes } from './shell/stored-theme.ts'
import { chooseTheme } from './shell/theme.ts'

type Stage =
  | { kind: 'loading' }
  | { kind: 'signed-out'; metadata: Metadata; reason?: SignedOutReason }
  | { kind: 'wrong-address'; home: string | undefined }
  | { kind: 'failed'; failure: unknown; retry: () => void }
  | { kind: 'signed-in'; context: AppContextValue }

/**
 * `App` checks whether a user is signed in. Depending on the result, it shows the console, the sign-in page or an
 * error.
 */
export function App() {
  const [stage, setStage] = useState<Stage>({ kind: 'loading' })
  useEffect(() => start(setStage), [])
  return (
    <>
      <StageView stage={stage} />
      <p className="unseen" id="announcement" role="status" />
    </>
  )
}

function start(setStage: (stage: Stage) => void): void {
  setStage({ kind: 'loading' })
  const fail = (failure: unknown) => setStage({ kind: 'failed', failure, retry: () => start(setStage) })
  const apply = async (result: StartupResult): Promise<void> => {
    if (result.kind === 'redirecting') return
    if (result.kind !== 'signed-in') return setStage(result)
    const { metadata, session } = result
    const onSignedOut = (reason: SignedOutReason) => setStage({ kind: 'signed-out', metadata, reason })
    const attempt = (): Promise<void> =>
      startUserSession(session, { onSignedOut }).then(
        (context) => setStage({ kind: 'signed-in', context }),
        (failure) => setStage({ kind: 'failed', failure, retry: attempt }),
      )
    return attempt()
  }
  resolveStartup().then(apply).catch(fail)
}

function StageView({ stage }: { stage: Stage }) {
  const language = languageOfBrowser()
  if (stage.kind === 'signed-in') return <SignedInApp context={stage.context} />
  return (
    <LanguageContext value={language}>
      {stage.kind === 'loading' && <Loading />}
      {stage.kind === 'signed-out' && <SignInPage metadata={stage.metadata} reason={stage.reason} />}
      {stage.kind === 'wrong-address' && <WrongAddressPage home={stage.home} />}
      {stage.kind === 'failed' && <StartupErrorPage failure={stage.failure} onRetry={stage.retry} />}
    </LanguageContext>
  )
}

/** The console with its routes and pages. Its code is loaded only after sign-in. */
const Console = lazy(async () => {
  const { router } = await import('./navigation/router.tsx')
  return { default: () => <RouterProvider router={router} /> }
})

/** The dialogs of the session. Their code is loaded after the console. */
const SessionDialogs = lazy(async () => ({
  default: (await import('./session/session-dialogs.tsx')).SessionDialogs,
}))

function SignedInApp({ context }: { context: AppContextValue }) {
  const queryClient = useMemo(newQueryClient, [])
  const language = usePreferenceValue(context, { name: 'language', values: languages, fallback: languageOfBrowser() })
  const theme = usePreferenceValue(context, { name: 'theme', values: themes, fallback: 'system' })
  useEffect(() => invalidateQueriesOnEvents(context.live, queryClient), [context, queryClient])
  useEffect(() => chooseTheme(theme), [theme])
  useEffect(() => {
    document.documentElement.lang = language
  }, [language])
  return (
    <AppContext value={context}>
      <LanguageContext value={language}>
        <QueryClientProvider client={queryClient}>
          <Suspense fallback={<Loading />}>
            <Console />
          </Suspense>
          <Suspense>
            <SessionDialogs />
          </Suspense>
        </QueryClientProvider>
      </LanguageContext>
    </AppContext>
  )
}

type PreferenceValueOptions<Value extends string> = { name: string; values: readonly Value[]; fallback: Value }

/** Reads a preference outside of `AppContext`, where `usePreference` is not available. */
function usePreferenceValue<Value extends string>(
  { preferences }: AppContextValue,
  { name, values, fallback }: PreferenceValueOptions<Value>,
): Value {
  const stored = useSyncExternalStore(
    (onChange) => preferences.subscribe(name, onChange),
    () => preferences.get(name),
  )
  return values.find((value) => value === stored) ?? fallback
}
