import { useText } from '../../app/language-context.tsx'
import { useSearchState } from '../../app/search.ts'
import { PageHeader } from '../../components/page-header.tsx'
import { usePageTitle } from '../../components/page-title.ts'
import { Tabs } from '../../components/tabs.tsx'
import { modelMessages } from './messages.ts'
import { Properties } from './properties.tsx'
import { Schemas } from './schemas.tsx'

const views = { properties: Properties, schemas: Schemas }
type View = keyof typeof views
const names = Object.keys(views) as View[]

/** What can be said about assets. */
export function ModelPage() {
  const text = useText(modelMessages)
  const [search, setSearch] = useSearchState<'view'>()
  usePageTitle(text.title)
  const view = names.find((name) => name === search.view) ?? 'properties'
  const Shown = views[view]
  return (
    <>
      <PageHeader title={text.title} subtitle={text.subtitle} />
      <Tabs
        label={text.views}
        tabs={names.map((id) => ({ id, label: text[id] }))}
        chosen={view}
        onChoose={(chosen) => setSearch({ view: chosen })}
      >
        <Shown />
      </Tabs>
    </>
  )
}
