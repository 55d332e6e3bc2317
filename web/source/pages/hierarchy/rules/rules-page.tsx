import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { PageHeader } from '../../../components/page/page-header.tsx'
import { usePageTitle } from '../../../components/page/page-title.ts'
import { ParentLink } from '../../../components/page/parent-link.tsx'
import { Proposals } from './proposals.tsx'
import { RuleEditor } from './rule-editor.tsx'
import { ruleMessages } from './rule-messages.ts'
import '../../assets/assets.css'
import '../hierarchy.css'

/**
 * `RulesPage` edits the assignment rules of a hierarchy. The user can also apply the assignments that the rules
 * propose.
 */
export function RulesPage() {
  const text = useText(ruleMessages)
  const { id = '' } = useParams({ strict: false })
  const query = useOperationQuery()
  const hierarchy = useQuery(
    query(['hierarchy', 'readHierarchy'], { params: { id } }, { live: ['hierarchy.hierarchy'] }),
  )
  const rules = useQuery(query(['hierarchy', 'readRules'], { params: { id } }, { live: ['hierarchy.hierarchy'] }))
  const name = hierarchy.data?.data.name
  const title = name === undefined ? text.rules : text.rulesOf(name)
  usePageTitle(title)
  return (
    <>
      <PageHeader
        title={title}
        subtitle={text.subtitle}
        above={
          <ParentLink to="/hierarchy" search={{ hierarchy: id }}>
            {text.hierarchy}
          </ParentLink>
        }
      />
      <QueryState query={rules}>
        {({ data }) => (
          <div className="rules">
            <RuleEditor key={JSON.stringify(data.rules)} hierarchyId={id} rules={data.rules} />
            {data.rules.length > 0 && <Proposals hierarchyId={id} rules={data.rules} />}
          </div>
        )}
      </QueryState>
    </>
  )
}
