import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import { Waiting } from '../components/feedback/loading.tsx'
import { newQueryClient } from './api/queries.ts'
import { type Language, languageOfBrowser, languages } from './language/language.ts'
import { LanguageContext } from './language/language-context.tsx'
import { renewQueries } from './live/live-queries.ts'
import type { Metadata } from './session/session.ts'
import { CannotSignIn, Outside, StartFault } from './session/signed-out-pages.tsx'
import { type Arrival, arrive, type Opening, open } from './session/startup.ts'
import { type Visit, VisitContext } from './session/user-context.tsx'
import { applyTheme, type Theme, themes } from './shell/theme.ts'

type Stage =
  | { at: 'opening' }
  | { at: 'outside'; metadata: Metadata; why?: 'signed-out' | 'ended' | 'elsewhere' }
  | { at: 'wrong-address'; home: string | undefined }
  | { at: 'fault'; failure: unknown; retry: () => void }
  | { at: 'inside'; arrival: Arrival }

/** From opening the page to being inside, or outside with a reason. */
export function App() {
  const [stage, setStage] = useState<Stage>({ at: 'opening' })
  useEffect(() => begin(setStage), [])
  return (
    <>
      <Inside stage={stage} />
      <p className="unseen" id="announcement" role="status" />
    </>
  )
}

function begin(setStage: (stage: Stage) => void): void {
  setStage({ at: 'opening' })
  const failed = (failure: unknown) => setStage({ at: 'fault', failure, retry: () => begin(setStage) })
  const settle = async (opening: Opening): Promise<void> => {
    if (opening.kind === 'leaving') return
    if (opening.kind === 'outside') return setStage({ at: 'outside', metadata: opening.metadata })
    if (opening.kind === 'wrong-address') return setStage({ at: 'wrong-address', home: opening.home })
    const { metadata, session } = opening
    const leave = (why: 'signed-out' | 'ended' | 'elsewhere') => setStage({ at: 'outside', metadata, why })
    const attempt = (): Promise<void> =>
      arrive(session, { onLeft: leave }).then(
        (arrival) => setStage({ at: 'inside', arrival }),
        (failure) => setStage({ at: 'fault', failure, retry: attempt }),
      )
    return attempt()
  }
  open().then(settle).catch(failed)
}

function Inside({ stage }: { stage: Stage }) {
  const language = languageOfBrowser()
  if (stage.at === 'inside') return <Furnished visit={stage.arrival.visit} />
  return (
    <LanguageContext value={language}>
      {stage.at === 'opening' && <Waiting />}
      {stage.at === 'outside' && <Outside metadata={stage.metadata} why={stage.why} />}
      {stage.at === 'wrong-address' && <CannotSignIn home={stage.home} />}
      {stage.at === 'fault' && <StartFault failure={stage.failure} onRetry={stage.retry} />}
    </LanguageContext>
  )
}

/** What is behind the door is loaded when somebody comes in. */
const Rooms = lazy(async () => {
  const { router } = await import('./navigation/router.tsx')
  return { default: () => <RouterProvider router={router} /> }
})

function Furnished({ visit }: { visit: Visit }) {
  const queryClient = useMemo(newQueryClient, [])
  const language = useKept(visit, 'language', languages, languageOfBrowser())
  const theme = useKept(visit, 'theme', themes, 'system')
  useEffect(() => renewQueries(visit.live, queryClient), [visit, queryClient])
  useEffect(() => applyTheme(theme as Theme), [theme])
  useEffect(() => {
    document.documentElement.lang = language
  }, [language])
  return (
    <VisitContext value={visit}>
      <LanguageContext value={language as Language}>
        <QueryClientProvider client={queryClient}>
          <Suspense fallback={<Waiting />}>
            <Rooms />
          </Suspense>
        </QueryClientProvider>
      </LanguageContext>
    </VisitContext>
  )
}

/** A preference that is needed above the place where the visit is known. */
function useKept<Value extends string>(visit: Visit, name: string, known: readonly Value[], fallback: Value): Value {
  const { preferences } = visit
  const kept = useSyncExternalStore(
    (changed) => preferences.subscribe(name, changed),
    () => preferences.get(name),
  )
  return known.find((value) => value === kept) ?? fallback
}
