/**
 * How tests look in each family of languages, as data. Every pattern is global, bounded and without nested quantifiers over
 * the same text, because agents write these files.
 */

export interface TestFamily {
  name: string
  file: RegExp
  /** Programs in this language. If a check runs such a program, its assertions count like those of a test. */
  program?: RegExp
  /** Comments, removed before counting. */
  comment?: RegExp
  /** One test; its last group is the name. */
  test: RegExp
  skip: RegExp
  only?: RegExp
  assertion: RegExp
  /** Assertions that almost any value satisfies. */
  weak: RegExp
  /** Text with one of each: test, skip, assertion. */
  example: string
}

const slashes = /^[ \t]*\/\/.*$|\/\*[^*]*\*\//gm
const hashes = /^[ \t]*#(?!\[).*$/gm

export const snapshotFile = /\.snap$|(?:^|\/)__snapshots__\//

export const testFamilies: readonly TestFamily[] = [
  {
    name: 'JavaScript and TypeScript',
    file: /\.(?:test|spec|cy|e2e)\.[cm]?[jt]sx?$|(?:^|\/)(?:tests?|__tests__|specs?|e2e|cypress)\/.*\.[cm]?[jt]sx?$/,
    program: /\.[cm]?[jt]sx?$/,
    comment: slashes,
    test: /\b(?:test|it|specify)(?:\.\w{1,20}){0,3}(?:\([^()\n]{0,200}\))?\(\s{0,40}(['"`])([^\n]{1,300}?)\1/g,
    skip: /\b(?:test|it|describe|suite|context|specify)(?:\.\w{1,20})?\.(?:skip|todo|fixme|failing|fails|skipIf|runIf)\b|\bx(?:it|describe|test|context)\s?\(|\b(?:this|t)\.(?:skip|todo)\(|\b(?:skip|todo): ?(?:true|['"`])/g,
    only: /\b(?:test|it|describe|suite|context|specify)\.only\b|\bf(?:it|describe)\(|\bonly: ?true/g,
    assertion:
      /\bexpect(?:\.soft)?\s?\(|\bassert(?:\.\w{1,30}){0,2}\s?\(|\bt\.(?:is|not|true|false|equal|deepEqual|like|throws|ok|assert)\w{0,20}\(|\.should\b/g,
    weak: /\.(?:toBeDefined|toBeTruthy|toBeFalsy|toMatchSnapshot|toMatchInlineSnapshot)\(|\.not\.(?:toBeNull|toBeUndefined|toThrow)\(|\bassert\.ok\(|\b(?:assert|expect)\(\s?(?:true|1)\s?\)/g,
    example: "it.skip('adds', () => expect(add(1, 1)).toBeDefined())",
  },
  {
    name: 'Python',
    file: /(?:^|\/)(?:test_[^/]*|[^/]*_test|conftest)\.py$|(?:^|\/)tests?\/.*\.py$/,
    program: /\.py$/,
    comment: hashes,
    test: /^[ \t]*(?:async )?def (test\w*)/gm,
    skip: /@(?:pytest\.mark\.|unittest\.)?(?:skip\w{0,10}|xfail|expectedFailure)\b|\bpytest\.(?:skip|xfail|importorskip)\(|\.skipTest\(|\braise (?:unittest\.)?SkipTest/g,
    assertion: /^[ \t]*assert\b|\.assert\w{1,30}\(|\bpytest\.raises\(/gm,
    weak: /\.assert(?:True|IsNotNone|AlmostEqual)\(|^[ \t]*assert (?:True|1)\b|^[ \t]*assert [^\n]{1,200} is not None$/gm,
    example: '@pytest.mark.skip\ndef test_adds():\n    assert add(1, 1) is not None',
  },
  {
    name: 'Go',
    file: /_test\.go$/,
    comment: slashes,
    test: /^func ((?:Test|Example|Fuzz)\w*)\(/gm,
    skip: /\b[tbf]\.Skip(?:f|Now)?\(/g,
    assertion: /\b[tbf]\.(?:Errorf?|Fatalf?|Fail|FailNow)\(|\b(?:assert|require)\.\w{1,30}\(/g,
    weak: /\b(?:assert|require)\.(?:NotNil|NotEmpty|NoError)\(/g,
    example: 'func TestAdds(t *testing.T) {\n\tt.Skip()\n\tassert.NotNil(t, add(1, 1))\n}',
  },
  {
    name: 'Rust',
    file: /\.rs$/,
    comment: slashes,
    test: /#\[(?:\w{1,20}::)?test\b[^\n]{0,100}\]\s{1,40}(?:#\[[^\n]{0,100}\]\s{1,40}){0,4}(?:pub )?(?:async )?fn (\w+)/g,
    skip: /#\[ignore\b/g,
    assertion: /\b(?:debug_)?assert(?:_eq|_ne|_matches)?!\s?\(|#\[should_panic\b/g,
    weak: /\bassert!\(\s?(?:true|[^\n]{1,200}\.is_(?:ok|some)\(\))/g,
    example: '#[test]\n#[ignore]\nfn adds() { assert!(add(1, 1).is_ok()); }',
  },
  {
    name: 'Java, Kotlin and Scala',
    file: /(?:^|\/)src\/(?:test|androidTest)\/|(?:Tests?|Spec)\.(?:java|kt|scala|groovy)$/,
    comment: slashes,
    test: /@(?:Test|ParameterizedTest|RepeatedTest)\b[^@]{0,300}?\b(?:void|fun)\s(`[^`\n]{1,200}`|\w+)/g,
    skip: /@(?:Disabled|Ignore)\b|\bassume(?:True|False|That)\(/g,
    assertion: /\bassert\w{0,30}\s?\(|\bverify\s?\(|\bshould\w{1,20}\b/g,
    weak: /\bassertNotNull\(|\bassertTrue\(\s?true\s?\)/g,
    example: '@Disabled\n@Test\nvoid adds() { assertNotNull(add(1, 1)); }',
  },
  {
    name: 'Ruby',
    file: /(?:_spec|_test)\.rb$|(?:^|\/)(?:spec|test)\/.*\.rb$/,
    program: /\.rb$/,
    comment: hashes,
    test: /^[ \t]*(?:x?it|specify|scenario|test) (['"])([^\n]{1,300}?)\1|^[ \t]*def (test_\w+)/gm,
    skip: /^[ \t]*(?:xit|xdescribe|xcontext|pending|skip)\b/gm,
    only: /^[ \t]*f(?:it|describe|context)\b|\bfocus: true|, :focus\b/gm,
    assertion: /\bexpect[ ({]|\b(?:assert|refute)\w{0,30}\b|\.should\b|\bmust_\w+/g,
    weak: /\bbe_truthy\b|\bnot_to be_nil\b|\b(?:assert_not_nil|refute_nil)\b/g,
    example: "  xit 'adds' do\n    expect(add(1, 1)).to be_truthy\n  end",
  },
  {
    name: 'PHP',
    file: /Test\.php$|(?:^|\/)tests?\/.*\.php$/,
    program: /\.php$/,
    comment: slashes,
    test: /\bfunction (test\w+)|\b(?:it|test)\(\s?(['"])([^\n]{1,300}?)\2/g,
    skip: /\bmarkTest(?:Skipped|Incomplete)\(|->(?:skip|todo)\(/g,
    only: /->only\(/g,
    assertion: /(?:->|::)assert\w{1,40}\(|\bexpect\w{0,20}\(/g,
    weak: /(?:->|::)assertNotNull\(|(?:->|::)assertTrue\(\s?true\s?\)/g,
    example: 'public function testAdds() { $this->markTestSkipped(); $this->assertNotNull(add(1, 1)); }',
  },
  {
    name: 'C#',
    file: /Tests?\.cs$|(?:^|\/)[\w.]*Tests?\/.*\.cs$/,
    comment: slashes,
    test: /\[(?:Fact|Theory|Test|TestMethod|TestCase)\b[^[]{0,300}?\b(?:void|Task)\s(\w+)/g,
    skip: /\bSkip\s?=|\[Ignore\b|\bAssert\.(?:Ignore|Inconclusive)\(/g,
    assertion: /\bAssert\.\w{1,30}\(|\.Should\(\)/g,
    weak: /\bAssert\.(?:IsNotNull|NotNull)\(|\bAssert\.True\(\s?true\s?\)/g,
    example: '[Fact(Skip = "later")]\npublic void Adds() { Assert.NotNull(Add(1, 1)); }',
  },
  {
    name: 'Elixir',
    file: /_test\.exs$/,
    comment: hashes,
    test: /^[ \t]*test "([^"\n]{1,300})"/gm,
    skip: /@(?:module)?tag :?skip\b/g,
    assertion: /^[ \t]*(?:assert|refute)\w{0,20}\b/gm,
    weak: /^[ \t]*assert true$/gm,
    example: '  @tag :skip\n  test "adds" do\n    assert true\n  end',
  },
  {
    name: 'C and C++',
    file: /(?:_tests?|Tests?|_spec)\.(?:c|cc|cpp|cxx)$|(?:^|\/)tests?\/.*\.(?:c|cc|cpp|cxx)$/,
    comment: slashes,
    test: /^[ \t]*(?:TEST|TEST_F|TEST_P|TEST_CASE|SCENARIO)\s?\(\s?([^)\n]{1,200})\)/gm,
    skip: /\bGTEST_SKIP\b|\bDISABLED_\w/g,
    assertion: /\b(?:EXPECT|ASSERT|CHECK|REQUIRE)(?:_\w{1,30})?\s?\(|\bassert\s?\(/g,
    weak: /\b(?:EXPECT|ASSERT)_TRUE\(\s?true\s?\)|\bassert\s?\(\s?1\s?\)/g,
    example: 'TEST(Math, DISABLED_Adds) { EXPECT_TRUE(true); }',
  },
  {
    name: 'Swift',
    file: /Tests?\.swift$/,
    comment: slashes,
    test: /\bfunc (test\w+)|@Test\b[^@]{0,200}?\bfunc (\w+)/g,
    skip: /\bXCTSkip\w*|\.disabled\(/g,
    assertion: /\bXCTAssert\w{0,30}\(|#(?:expect|require)\(/g,
    weak: /\bXCTAssertNotNil\(|\bXCTAssertTrue\(\s?true\s?\)/g,
    example: 'func testAdds() throws { throw XCTSkip(); XCTAssertNotNil(add(1, 1)) }',
  },
  {
    name: 'Bats',
    file: /\.bats$/,
    comment: hashes,
    test: /^@test (['"])([^\n]{1,300}?)\1/gm,
    skip: /^[ \t]*skip\b/gm,
    assertion: /^[ \t]*(?:\[\[? |assert\w{0,20}\b|refute\w{0,20}\b|test )/gm,
    weak: /^[ \t]*\[ true \]$/gm,
    example: '@test "adds" {\n  skip\n  [ true ]\n}',
  },
]
