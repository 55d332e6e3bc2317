import type { ComponentType } from 'react'
import { useSearchState } from '../../app/navigation/search-state.ts'
import { PageHeader } from './page-header.tsx'
import { usePageTitle } from './page-title.ts'
import { Tabs } from './tabs.tsx'

type TabbedPageProps<View extends string> = {
  title: string
  subtitle: string
  /** The accessible name of the tab list. */
  label: string
  views: Readonly<Record<View, { title: string; View: ComponentType; startsGroup?: boolean }>>
}

/** `TabbedPage` is a page with several views. The selected view is stored in the URL. The first view is the default. */
export function TabbedPage<View extends string>({ title, subtitle, label, views }: TabbedPageProps<View>) {
  const [search, setSearch] = useSearchState<'view'>()
  usePageTitle(title)
  const names = Object.keys(views) as View[]
  const chosen = names.find((name) => name === search.view) ?? names[0]
  if (chosen === undefined) return null
  const { View: Shown } = views[chosen]
  return (
    <>
      <PageHeader title={title} subtitle={subtitle} />
      <Tabs
        label={label}
        tabs={names.map((id) => ({ id, label: views[id].title, startsGroup: views[id].startsGroup === true }))}
        chosen={chosen}
        onChoose={(view) => setSearch({ view })}
      >
        <Shown />
      </Tabs>
    </>
  )
}
